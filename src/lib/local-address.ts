import { isIP } from 'node:net'

/** Whether only this machine can reach an address that a server binds to. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

/** The host of a URL, by which nobody but this machine is ever reached: no name server can have it point elsewhere. */
export const isLoopbackName = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name)

/** Where a person on this machine reaches it: what listens everywhere is reached at the loopback address. */
export function urlOf(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`
  if (host === '::') return `http://[::1]:${port}`
  return isIP(host) === 6 ? `http://[${host}]:${port}` : `http://${host}:${port}`
}
