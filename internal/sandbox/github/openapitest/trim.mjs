// Cuts GitHub's OpenAPI description down to the paths in use, without prose.
//   npm pack @octokit/openapi@23.0.2 && tar xf octokit-openapi-23.0.2.tgz
//   node trim.mjs package/generated/api.github.com.json > github.json
import fs from 'node:fs'

const paths = {
  '/user': ['get'],
  '/rate_limit': ['get'],
  '/repos/{owner}/{repo}': ['get'],
  '/repos/{owner}/{repo}/git/ref/{ref}': ['get'],
  '/repos/{owner}/{repo}/git/refs': ['post'],
  '/repos/{owner}/{repo}/git/refs/{ref}': ['patch', 'delete'],
  '/repos/{owner}/{repo}/git/matching-refs/{ref}': ['get'],
  '/repos/{owner}/{repo}/git/blobs': ['post'],
  '/repos/{owner}/{repo}/git/blobs/{file_sha}': ['get'],
  '/repos/{owner}/{repo}/git/trees/{tree_sha}': ['get'],
  '/repos/{owner}/{repo}/git/trees': ['post'],
  '/repos/{owner}/{repo}/git/commits/{commit_sha}': ['get'],
  '/repos/{owner}/{repo}/git/commits': ['post'],
  '/repos/{owner}/{repo}/contents/{path}': ['get'],
  '/repos/{owner}/{repo}/commits': ['get'],
  '/repos/{owner}/{repo}/commits/{ref}': ['get'],
  '/repos/{owner}/{repo}/commits/{ref}/status': ['get'],
  '/repos/{owner}/{repo}/commits/{ref}/check-runs': ['get'],
  '/repos/{owner}/{repo}/rules/branches/{branch}': ['get'],
  '/repos/{owner}/{repo}/branches/{branch}/protection': ['get'],
  '/repos/{owner}/{repo}/pulls/{pull_number}/reviews': ['get'],
  '/repos/{owner}/{repo}/pulls': ['get', 'post'],
  '/repos/{owner}/{repo}/pulls/{pull_number}': ['get', 'patch'],
  '/repos/{owner}/{repo}/pulls/{pull_number}/merge': ['put'],
}
const prose = new Set(['description', 'summary', 'example', 'examples', 'externalDocs', 'tags', 'operationId', 'title', 'default'])

const api = JSON.parse(fs.readFileSync(process.argv[2]))
const out = { openapi: api.openapi, info: { title: 'GitHub REST API, in part', version: api.info.version, license: api.info.license }, paths: {}, components: {} }

// bare copies a value without prose; inside "properties" every name is data.
function bare(v, names = false) {
  if (Array.isArray(v)) return v.map((x) => bare(x))
  if (v === null || typeof v !== 'object') return v
  return Object.fromEntries(Object.entries(v)
    .filter(([k]) => names || (!prose.has(k) && !k.startsWith('x-')))
    .map(([k, x]) => [k, bare(x, k === 'properties' && !names)]))
}

const todo = []
function refs(v) {
  if (v === null || typeof v !== 'object') return
  if (typeof v.$ref === 'string') todo.push(v.$ref)
  Object.values(v).forEach(refs)
}

for (const [path, methods] of Object.entries(paths)) {
  const item = {}
  for (const m of methods) {
    item[m] = bare(api.paths[path][m])
    for (const r of Object.values(item[m].responses)) r.description = '' // required by OpenAPI
  }
  out.paths[path] = item
  refs(item)
}
const done = new Set()
while (todo.length) {
  const ref = todo.pop()
  if (done.has(ref)) continue
  done.add(ref)
  const [, , kind, name] = ref.split('/')
  const value = bare(api.components[kind][name])
  if (kind === 'responses') value.description = ''
  ;(out.components[kind] ??= {})[name] = value
  refs(value)
}
process.stdout.write(JSON.stringify(out))
