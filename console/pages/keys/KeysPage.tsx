import { useNavigate, useSearch } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useLetterKey } from '../../lib/useLetterKey.ts'
import { itemsOf } from '../../questions/question.ts'
import { useKeys } from '../../questions/useKeys.ts'
import { Button } from '../../ui/Button.tsx'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { ShowMore } from '../../ui/ShowMore.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { CreateKeyDialog } from './CreateKeyDialog.tsx'
import { KeyDialogs } from './KeyDialogs.tsx'
import { KeyFilterBar } from './KeyFilterBar.tsx'
import { KeyList } from './KeyList.tsx'
import { MadeKeyDialog } from './MadeKeyDialog.tsx'
import type { MadeKey, PickedAct } from './own-key.ts'
import { useKeyFilters } from './useKeyFilters.ts'
import { useMadeKey } from './useMadeKey.ts'

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
          hasMore={question.hasNextPage}
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
      if (asked !== undefined) void navigate({ to: '/keys', search: {}, replace: true })
    },
  }
}
