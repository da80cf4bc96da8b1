// Starts the Bluesky PDS with a PLC directory of its own, on free ports of the loopback address alone, says
// "ready PORT", and ends when its standard input does. DATA names a folder for its files.
import fs from 'node:fs'
import net from 'node:net'

const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, { host: '127.0.0.1', port: typeof port === 'object' ? port.port : port }, rest.findLast((a) => typeof a === 'function'))
}
process.stdin.on('end', () => process.exit(0)).resume()

const free = () => new Promise((resolve) => {
  const s = net.createServer()
  s.listen(0, () => { const { port } = s.address(); s.close(() => resolve(port)) })
})

const { default: plc } = await import('@did-plc/server')
const { PDS, envToCfg, envToSecrets } = (await import('@atproto/pds')).default
const { Secp256k1Keypair } = (await import('@atproto/crypto')).default

const data = process.env.DATA
const [directory, port] = [await free(), await free()]
fs.mkdirSync(data + '/blobs', { recursive: true })
await plc.PlcServer.create({ db: plc.Database.mock(), port: directory }).start()
const rotation = await Secp256k1Keypair.create({ exportable: true })
const env = {
  devMode: true, port, hostname: 'localhost', dataDirectory: data, blobstoreDiskLocation: data + '/blobs',
  recoveryDidKey: (await Secp256k1Keypair.create()).did(), adminPassword: 'admin', jwtSecret: 'x'.repeat(32),
  serviceHandleDomains: ['.test'], didPlcUrl: `http://localhost:${directory}`,
  plcRotationKeyK256PrivateKeyHex: Buffer.from(await rotation.export()).toString('hex'),
  inviteRequired: false, disableSsrfProtection: true, rateLimitsEnabled: false,
  bskyAppViewUrl: 'https://appview.invalid', bskyAppViewDid: 'did:example:invalid',
  modServiceUrl: 'https://mod.invalid', modServiceDid: 'did:example:invalid',
}
await (await PDS.create(envToCfg(env), envToSecrets(env))).start()
console.log('ready', port)
