import type { RouteName } from '../../src/contract/console-api.ts'

export type QueryName = Extract<RouteName, `GET ${string}`>
export type DownloadName = Extract<RouteName, `GET ${string}.csv`>
export type MutationName = Exclude<RouteName, QueryName>

const BASE = '/console/api'

export interface Address {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly query?: object | undefined
}

export const methodOf = (name: RouteName): string => name.slice(0, name.indexOf(' '))

export function routeAddress(name: RouteName, { params = {}, query = {} }: Address = {}): string {
  const path = name.slice(name.indexOf(' ') + 1)
  const filled = path.replace(/:(\w+)/g, (_, param: string) => {
    const value = params[param]
    if (value === undefined) throw new Error(`${name} needs ${param}`)
    return encodeURIComponent(value)
  })
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(key, String(value))
  }
  return `${BASE}${filled}${search.size > 0 ? `?${search}` : ''}`
}
