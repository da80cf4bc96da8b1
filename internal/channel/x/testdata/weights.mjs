// Writes weights.json: what twitter-text 3.1.0 says of texts.
//   npm install --no-save twitter-text@3.1.0 && node weights.mjs
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
const twitter = createRequire(process.cwd() + '/')('twitter-text')
const words = ['Look', 'then', 'act', 'Über', 'naïve', 'e\u0301te\u0301', '日本語', '한국어', 'Привет', 'مرحبا', 'שלום', 'ไทย', 'हिन्दी', 'ﬁ', 'Ω≈ç', '—', '…', '“quoted”', '’', '€', '™', '©', '®', '½', '→', '✓', 'ẞ', 'Ǆ', '\u1100\u1161', '𝒳', '𠮷',
  '😀', '❤️', '❤', '👍🏽', '👩‍🔬', '👨‍👩‍👧‍👦', '🏳️‍🌈', '🇩🇪', '🇩', '1️⃣', '#️⃣', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '☎️', '☎', '✂️', '⌚', '🤷🏿‍♀️',
  'https://example.org/posts/look/', 'http://example.org', 'https://example.org/a?b=c&d=e#f', 'https://sub.example.co.uk/a_(b)', 'https://example.org/日本', '#golang', '#日本', '@press', 'v1.2.3', '3.14', 'a.b', 'file.txt', 'e.g.', 'node.js', 'example.org', 'www.example.com/path']
let seed = 20261207
const next = n => (seed = (seed * 1103515245 + 12345) % 2147483648) % n
const texts = new Set(words)
for (let n = 0; n < 900; n++) {
  const parts = []
  for (let k = 1 + next(40); k > 0; k--) parts.push(words[next(words.length)])
  texts.add(parts.join(next(6) ? ' ' : next(2) ? '\n' : ', '))
}
const out = [...texts].map(text => ({ text, weight: twitter.parseTweet(text).weightedLength, links: twitter.extractUrls(text) }))
writeFileSync('weights.json', JSON.stringify(out, null, 0).replaceAll('},{', '},\n{') + '\n')
console.log(out.length)
