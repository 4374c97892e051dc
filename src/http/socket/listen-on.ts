import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ListenOutcome =
  | { readonly kind: 'listening'; readonly host: string; readonly port: number }
  | { readonly kind: 'address-in-use' }
  | { readonly kind: 'address-not-available' }
  | { readonly kind: 'not-permitted' }

/** The default of 511 is short when a thousand clients come back at once. */
const BACKLOG = 4096

const LISTEN_FAILURES: Readonly<Record<string, Exclude<ListenOutcome['kind'], 'listening'>>> = {
  EADDRINUSE: 'address-in-use',
  EADDRNOTAVAIL: 'address-not-available',
  ENOTFOUND: 'address-not-available',
  EACCES: 'not-permitted',
}

/** What can be wrong with an address is an outcome; the operator chose it and can choose another. */
export function listenOn(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<ListenOutcome> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      const kind = LISTEN_FAILURES[error.code ?? '']
      if (kind) resolve({ kind })
      else reject(new Error(`could not listen on ${host}:${port}`, { cause: error }))
    }
    server.once('error', onError)
    server.listen({ host, port, backlog: BACKLOG }, () => {
      server.off('error', onError)
      resolve({ kind: 'listening', host, port: (server.address() as AddressInfo).port })
    })
  })
}
