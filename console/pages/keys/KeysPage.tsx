import { useNavigate, useSearch } from '@tanstack/react-router'
import { KeyRound, Plus, SearchX } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useLetterKey } from '../../lib/letter-keys.ts'
import { useKeys, useKeySearch } from '../../queries/keys.ts'
import { itemsOf } from '../../queries/query.ts'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { KeyDialogs } from './KeyDialogs.tsx'
import { KeySecretDialog, useKeySecret } from './KeySecretDialog.tsx'
import { askableSearch, findKeys } from './find-keys.ts'
import { KeyFilterBar, useKeyFilters } from './KeyFilterBar.tsx'
import { KeyTable } from './KeyTable.tsx'
import type { ListedKey, CreatedKey, PickedAction } from './own-key.ts'
import { CreateKeyDialog } from './terms/CreateKeyDialog.tsx'

export function KeysPage() {
  const { shell, keys } = useMessages()
  const query = useKeys()
  const view = useKeyFilters()
  const creating = useCreating()
  const [picked, setPicked] = useState<PickedAction | undefined>()
  const { made, show, drop } = useKeySecret()
  useLetterKey('n', keys.create, creating.open)
  const all = itemsOf(query.data)
  const finish = (next: CreatedKey) => {
    show(next)
    creating.close()
    setPicked(undefined)
  }
  const create = (
    <Button tone="primary" onClick={creating.open}>
      <Plus aria-hidden="true" />
      {keys.create}
    </Button>
  )
  return (
    <Page>
      <PageHeader title={shell.areas.keys} about={keys.about} actions={create} />
      {all.length > 0 && (
        <KeyFilterBar
          view={view}
          revokedCount={all.filter(({ state }) => state === 'revoked').length}
          hasMore={query.hasNextPage && askableSearch(view.filters.text) === ''}
        />
      )}
      <Panel padding="flush">
        <QueryView query={query} lines={6}>
          {() => <KeyList all={all} view={view} onAction={setPicked} create={create} />}
        </QueryView>
        <ShowMore query={query} />
      </Panel>
      {creating.isOpen && <CreateKeyDialog onClose={creating.close} onMade={finish} />}
      <KeyDialogs picked={picked} onClose={() => setPicked(undefined)} onRotated={finish} />
      {made !== undefined && <KeySecretDialog made={made} onStored={drop} />}
    </Page>
  )
}

/** Other pages open the dialog by an address: `/keys?new=yes`. It is taken out again, so that a reload shows the list. */
function useCreating() {
  const navigate = useNavigate()
  const { new: asked } = useSearch({ strict: false })
  const [isOpen, setIsOpen] = useState(asked !== undefined)
  return {
    isOpen,
    open: () => setIsOpen(true),
    close: () => {
      setIsOpen(false)
      // The dialog that has made a key is there for a moment yet, and lets nobody away; this stays on the page.
      if (asked !== undefined) void navigate({ to: '/keys', search: {}, replace: true, ignoreBlocker: true })
    },
  }
}

interface KeyListProps {
  readonly all: readonly ListedKey[]
  readonly view: ReturnType<typeof useKeyFilters>
  readonly onAction: (picked: PickedAction) => void
  readonly create: ReactNode
}

/** The keys that are left by search and filters, or why there are none. */
function KeyList({ all, view, onAction, create }: KeyListProps) {
  const { keys } = useMessages()
  const about = useKeySearch(askableSearch(view.filters.text))
  const found = findKeys(all, view.filters, about.data?.items)
  if (found.length > 0) return <KeyTable keys={found} search={view.filters.text} onAction={onAction} />
  if (all.length === 0) return <Empty icon={KeyRound} title={keys.none} text={keys.noneText} action={create} />
  if (view.isNarrowed) {
    const clear = <Button onClick={view.clear}>{keys.clear}</Button>
    return <Empty icon={SearchX} title={keys.notFound} text={keys.notFoundText} action={clear} />
  }
  return <Empty icon={KeyRound} title={keys.noneActive} text={keys.noneActiveText} action={create} />
}
