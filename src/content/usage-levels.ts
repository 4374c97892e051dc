import type { KeyKind } from '../model/caller.ts'

/** Which key, model and kind a series is of. A key has one kind, so its series name both. */
export interface SeriesName {
  readonly level: UsageLevel
  /** 0: of any. */
  readonly key: number
  /** Empty: of any. */
  readonly model: string
  readonly kind: KeyKind | ''
}

export type UsageLevel = 'all' | 'kind' | 'model' | 'kind+model' | 'key' | 'key+model'

interface Looks {
  readonly key?: true
  readonly model?: true
  readonly kind?: true
}

/** What each level looks at. */
const LEVELS: Readonly<Record<UsageLevel, Looks>> = {
  all: {},
  kind: { kind: true },
  model: { model: true },
  'kind+model': { kind: true, model: true },
  key: { key: true, kind: true },
  'key+model': { key: true, model: true, kind: true },
}

const LEVEL_NAMES = Object.keys(LEVELS) as UsageLevel[]

/** Every series that a request with these counts in. */
export const seriesOf = (of: { readonly key: number; readonly model: string; readonly kind: KeyKind }): SeriesName[] =>
  LEVEL_NAMES.map((level) => {
    const looks = LEVELS[level]
    return { level, key: looks.key ? of.key : 0, model: looks.model ? of.model : '', kind: looks.kind ? of.kind : '' }
  })

/** The level whose series tell apart what is asked for; a key tells its kind by itself. */
export function levelOf({ key, model, kind }: { key: boolean; model: boolean; kind: boolean }): UsageLevel {
  if (key) return model ? 'key+model' : 'key'
  if (kind) return model ? 'kind+model' : 'kind'
  return model ? 'model' : 'all'
}
