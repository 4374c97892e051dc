import { KeyRound, SearchX } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { findKeys } from './find-keys.ts'
import { KeyTable } from './KeyTable.tsx'
import type { ListedKey, PickedAct } from './own-key.ts'
import type { useKeyFilters } from './useKeyFilters.ts'

interface KeyListProps {
  readonly all: readonly ListedKey[]
  readonly view: ReturnType<typeof useKeyFilters>
  readonly onAct: (picked: PickedAct) => void
  readonly create: ReactNode
}

/** The keys that are left by search and filters, or why there are none. */
export function KeyList({ all, view, onAct, create }: KeyListProps) {
  const { keys } = useWords()
  const found = findKeys(all, view.filters)
  if (found.length > 0) return <KeyTable keys={found} onAct={onAct} />
  if (all.length === 0) return <Empty icon={KeyRound} title={keys.none} text={keys.noneText} action={create} />
  if (view.isNarrowed) {
    const clear = <Button onClick={view.clear}>{keys.clear}</Button>
    return <Empty icon={SearchX} title={keys.notFound} text={keys.notFoundText} action={clear} />
  }
  return <Empty icon={KeyRound} title={keys.noneActive} text={keys.noneActiveText} action={create} />
}
