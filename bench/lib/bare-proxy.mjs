// The floor: node:http in front, undici's dispatch behind, bytes passed on, nothing else. Its argument is the port of the provider, or its
// origin.
import { createServer } from 'node:http'
import { Pool } from 'undici'

const [, , provider] = process.argv
const pool = new Pool(provider.includes('://') ? provider : `http://127.0.0.1:${provider}`, {
  headersTimeout: 0,
  bodyTimeout: 0,
})
const server = createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    pool.dispatch(
      {
        path: request.url,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: Buffer.concat(parts),
      },
      {
        onConnect(abort) {
          response.once('close', () => {
            if (!response.writableFinished) abort()
          })
        },
        onHeaders(status, headers) {
          response.writeHead(status, headers.map(String))
          return true
        },
        onData(chunk) {
          response.write(chunk)
          return true
        },
        onComplete: () => response.end(),
        onError: () => response.destroy(),
      },
    )
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
