import { createServer } from 'node:net'

/**
 * Below the range from which the kernel takes the other ends of connections: while the server is down, a client that
 * was given the same port would connect to itself.
 */
export async function findFreePort(random) {
  for (;;) {
    const port = 20_000 + random.below(10_000)
    if (await isFree(port)) return port
  }
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
