import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { choicesOf } from '../../ui/choices.ts'
import { SearchInput } from '../../ui/SearchInput.tsx'
import { Segmented } from '../../ui/Segmented.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import type { KeyFilters } from './find-keys.ts'

interface KeyFilterBarProps {
  readonly view: ReturnType<typeof useKeyFilters>
  readonly revokedCount: number
  /** There is more on the server than was searched. */
  readonly hasMore: boolean
}

export function KeyFilterBar({ view, revokedCount, hasMore }: KeyFilterBarProps) {
  const { keys, common } = useMessages()
  const formats = useFormats()
  const { filters } = view
  return (
    <div className="grid gap-1.5">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <SearchInput
          label={keys.search}
          value={filters.text}
          onText={view.setText}
          className="max-w-sm flex-1 basis-56"
        />
        <Segmented
          label={keys.filterKind}
          value={filters.kind ?? 'all'}
          options={choicesOf(['all', 'wallet', 'builder'], { all: common.all, ...keys.kinds })}
          onPick={(kind) => view.setKind(kind === 'all' ? undefined : kind)}
        />
        {(revokedCount > 0 || filters.revoked) && (
          <Checkbox
            label={keys.showRevokedCount(formats.count(revokedCount))}
            checked={filters.revoked}
            onChange={(event) => view.setRevoked(event.target.checked)}
          />
        )}
      </div>
      {hasMore && filters.text.trim() !== '' && <p className="text-xs text-faint">{keys.searchLoaded}</p>}
    </div>
  )
}

/**
 * What of the keys is shown. The switches stand in the address; the text does not, because somebody may paste a whole secret
 * there to find out which key it belongs to.
 */
export function useKeyFilters() {
  const navigate = useNavigate()
  const search = useSearch({ strict: false })
  const [text, setText] = useState('')
  const kind = search.kind === 'wallet' || search.kind === 'builder' ? search.kind : undefined
  const filters: KeyFilters = { text, kind, revoked: search.revoked === 'yes' }
  const change = ({ kind: nextKind, revoked }: Pick<KeyFilters, 'kind' | 'revoked'>) =>
    void navigate({
      to: '/keys',
      search: { ...(nextKind !== undefined && { kind: nextKind }), ...(revoked && { revoked: 'yes' }) },
      replace: true,
    })
  return {
    filters,
    isNarrowed: text.trim() !== '' || kind !== undefined,
    setText,
    setKind: (next: KeyFilters['kind']) => change({ kind: next, revoked: filters.revoked }),
    setRevoked: (revoked: boolean) => change({ kind, revoked }),
    clear: () => {
      setText('')
      change({ kind: undefined, revoked: filters.revoked })
    },
  }
}
