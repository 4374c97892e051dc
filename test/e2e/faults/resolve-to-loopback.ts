import type { ResolveHost } from '../../../src/providers/address-guard.ts'

/** The only name that resolves in these walks. */
export const TRUSTLESS_HOST = 'untrusted.example'

/** A name server that knows one name. */
export const resolveHere: ResolveHost = (host) =>
  host === TRUSTLESS_HOST
    ? Promise.resolve([{ address: '127.0.0.1', family: 4 }])
    : Promise.reject(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' }))
