import { useNavigate, useSearch } from '@tanstack/react-router'
import { KeyRound, Plus, SearchX } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useLetterKey } from '../../lib/letter-keys.ts'
import { useKeys, useKeysAbout } from '../../questions/keys.ts'
import { itemsOf } from '../../questions/question.ts'
import { Answer, ShowMore } from '../../ui/Answer.tsx'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { KeyDialogs } from './acts/KeyDialogs.tsx'
import { MadeKeyDialog, useMadeKey } from './acts/MadeKeyDialog.tsx'
import { askableSearch, findKeys } from './find-keys.ts'
import { KeyFilterBar, useKeyFilters } from './KeyFilterBar.tsx'
import { KeyTable } from './KeyTable.tsx'
import type { ListedKey, MadeKey, PickedAct } from './own-key.ts'
import { CreateKeyDialog } from './terms/CreateKeyDialog.tsx'

export function KeysPage() {
  const { shell, keys } = useWords()
  const question = useKeys()
  const view = useKeyFilters()
  const creating = useCreating()
  const [picked, setPicked] = useState<PickedAct | undefined>()
  const { made, show, drop } = useMadeKey()
  useLetterKey('n', keys.create, creating.open)
  const all = itemsOf(question.data)
  const finish = (next: MadeKey) => {
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
          hasMore={question.hasNextPage && askableSearch(view.filters.text) === ''}
        />
      )}
      <Panel padding="flush">
        <Answer question={question} lines={6}>
          {() => <KeyList all={all} view={view} onAct={setPicked} create={create} />}
        </Answer>
        <ShowMore question={question} />
      </Panel>
      {creating.isOpen && <CreateKeyDialog onClose={creating.close} onMade={finish} />}
      <KeyDialogs picked={picked} onClose={() => setPicked(undefined)} onRotated={finish} />
      {made !== undefined && <MadeKeyDialog made={made} onStored={drop} />}
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
  readonly onAct: (picked: PickedAct) => void
  readonly create: ReactNode
}

/** The keys that are left by search and filters, or why there are none. */
function KeyList({ all, view, onAct, create }: KeyListProps) {
  const { keys } = useWords()
  const about = useKeysAbout(askableSearch(view.filters.text))
  const found = findKeys(all, view.filters, about.data?.items)
  if (found.length > 0) return <KeyTable keys={found} search={view.filters.text} onAct={onAct} />
  if (all.length === 0) return <Empty icon={KeyRound} title={keys.none} text={keys.noneText} action={create} />
  if (view.isNarrowed) {
    const clear = <Button onClick={view.clear}>{keys.clear}</Button>
    return <Empty icon={SearchX} title={keys.notFound} text={keys.notFoundText} action={clear} />
  }
  return <Empty icon={KeyRound} title={keys.noneActive} text={keys.noneActiveText} action={create} />
}
