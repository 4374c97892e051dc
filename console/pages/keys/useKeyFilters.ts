import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { KeyFilters } from './find-keys.ts'

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
