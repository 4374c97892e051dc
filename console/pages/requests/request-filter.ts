import type { RequestFilter } from '../../questions/useRequestPages.ts'

type Search = Readonly<Record<string, string | undefined>>

const ENDINGS = ['ok', 'not_ok', 'running'] as const
const PAYERS = ['wallet', 'builder'] as const

const text = (value: string | undefined) => (value === undefined || value === '' ? undefined : value)

/** What an address asks for; whatever in it is none of our words asks for nothing. */
export function readRequestFilter(search: Search): RequestFilter {
  const [key, model] = [text(search.key), text(search.model)]
  const outcome = ENDINGS.find((ending) => ending === search.outcome)
  const kind = PAYERS.find((payer) => payer === search.kind)
  return {
    ...(key !== undefined && { key }),
    ...(model !== undefined && { model }),
    ...(outcome !== undefined && { outcome }),
    ...(kind !== undefined && { kind }),
  }
}

export const isFiltered = (filter: RequestFilter): boolean => Object.keys(filter).length > 0
