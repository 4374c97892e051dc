import { X } from 'lucide-react'
import { useKeys } from '../../queries/keys.ts'
import { itemsOf } from '../../queries/query.ts'
import { Button } from '../../ui/Button.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { BYS, type By, isNarrowed, type UsageFilter } from './usage-filter.ts'

interface UsageChipsProps {
  readonly filter: UsageFilter
  readonly onChange: (filter: UsageFilter) => void
}

/** What the page is narrowed to; each chip goes away by itself, and brings its part of the split back. */
export function UsageChips({ filter, onChange }: UsageChipsProps) {
  const { usage } = useMessages()
  const nameOf = useNameOf()
  if (!isNarrowed(filter)) return null
  return (
    <ul aria-label={usage.filters} className="flex flex-wrap items-center gap-2">
      {BYS.map((by) => {
        const value = filter[by]
        if (value === undefined) return null
        const name = `${usage.bys[by]}: ${nameOf(by, value)}`
        return (
          <li key={by} className="max-w-full">
            <button
              type="button"
              aria-label={usage.dropFilter(name)}
              onClick={() => onChange({ ...filter, [by]: undefined, by })}
              className="flex min-h-7 max-w-full items-center gap-1.5 rounded-full bg-accent-wash ps-3 pe-2 text-sm font-medium text-accent hover:bg-hover"
            >
              <span className="truncate">{name}</span>
              <X aria-hidden="true" className="size-3.5 shrink-0" />
            </button>
          </li>
        )
      })}
      <li>
        <Button tone="quiet" onClick={() => onChange({ ...filter, model: undefined, key: undefined, kind: undefined })}>
          {usage.clear}
        </Button>
      </li>
    </ul>
  )
}

/** What people call a series: keys by the names that they were given, kinds by ours. */
function useNameOf(): (by: By, id: string) => string {
  const { usage } = useMessages()
  const keys = itemsOf(useKeys().data)
  return (by, id) => {
    if (by === 'key') return keys.find((key) => key.id === id)?.name ?? id
    return id === 'wallet' || id === 'builder' ? usage.kinds[id] : id
  }
}
