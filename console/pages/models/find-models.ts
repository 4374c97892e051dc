import type { ModelItem } from '../../queries/account.ts'

export interface ModelFilter {
  readonly text: string
  readonly kind: 'any' | ModelItem['kinds'][number]
  readonly onlyAvailable: boolean
}

export function findModels(models: readonly ModelItem[], { text, kind, onlyAvailable }: ModelFilter): ModelItem[] {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean)
  return models.filter((model) => {
    const names = [model.id, ...model.variants].join('\n').toLowerCase()
    return (
      terms.every((term) => names.includes(term)) &&
      (kind === 'any' || model.kinds.includes(kind)) &&
      (!onlyAvailable || model.available)
    )
  })
}

type Search = Readonly<Record<string, string | undefined>>

export const readModelFilter = (search: Search): ModelFilter => ({
  text: search.search ?? '',
  kind: search.kind === 'wallet' || search.kind === 'builder' ? search.kind : 'any',
  onlyAvailable: search.available === 'yes',
})

export const writeModelFilter = ({ text, kind, onlyAvailable }: ModelFilter): Record<string, string> => ({
  ...(text !== '' && { search: text }),
  ...(kind !== 'any' && { kind }),
  ...(onlyAvailable && { available: 'yes' }),
})
