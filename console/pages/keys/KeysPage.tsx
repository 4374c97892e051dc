import { useNavigate, useSearch } from '@tanstack/react-router'
import { KeyRound, Plus, SearchX } from 'lucide-react'
import { type ReactNode, Suspense, useState } from 'react'
import { lazyPart } from '../../lib/lazy-part.ts'
import { useLetterKey } from '../../lib/letter-keys.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useKeySearch, useKeys } from '../../queries/account.ts'
import { itemsOf } from '../../queries/query.ts'
import { useMay } from '../../queries/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Checkbox, choicesOf, SearchInput, Segmented } from '../../ui/inputs.tsx'
import { Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { askableSearch, findKeys, type KeyFilters } from './find-keys.ts'
import { KeyDialogs } from './KeyDialogs.tsx'
import { KeySecretDialog, useKeySecret } from './KeySecretDialog.tsx'
import { KeyTable } from './KeyTable.tsx'
import type { CreatedKey, ListedKey, PickedAction } from './key-facts.tsx'

/** Loaded when it is opened, to keep the page small. */
const CreateKeyDialog = lazyPart(async () => (await import('./key-form-dialogs.tsx')).CreateKeyDialog)

export function KeysPage() {
  const { shell, keys } = useMessages()
  const query = useKeys()
  const view = useKeyFilters()
  const creating = useCreating()
  const may = useMay()
  const [picked, setPicked] = useState<PickedAction | undefined>()
  const { made, show, drop } = useKeySecret()
  useLetterKey('n', keys.create, may('member') ? creating.open : undefined)
  const all = itemsOf(query.data)
  const finish = (next: CreatedKey) => {
    show(next)
    creating.close()
    setPicked(undefined)
  }
  const create = may('member') && (
    <Button tone="primary" onClick={creating.open}>
      <Plus aria-hidden="true" />
      {keys.create}
    </Button>
  )
  return (
    <Page>
      <PageHeader title={shell.pageTitles.keys} about={may('viewer') ? keys.about : keys.aboutOwn} actions={create} />
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
      {creating.isOpen && may('member') && (
        <Suspense fallback={null}>
          <CreateKeyDialog onClose={creating.close} onMade={finish} />
        </Suspense>
      )}
      <KeyDialogs picked={picked} onClose={() => setPicked(undefined)} onRotated={finish} />
      {made !== undefined && <KeySecretDialog made={made} onStored={drop} />}
    </Page>
  )
}

/** `/keys?new=yes` opens the dialog. The parameter is removed so that a reload shows the list. */
function useCreating() {
  const navigate = useNavigate()
  const { new: openDialog } = useSearch({ strict: false })
  const [isOpen, setIsOpen] = useState(openDialog !== undefined)
  return {
    isOpen,
    open: () => setIsOpen(true),
    close: () => {
      setIsOpen(false)
      // The closing dialog still blocks navigation, and this navigation stays on the page.
      if (openDialog !== undefined) void navigate({ to: '/keys', search: {}, replace: true, ignoreBlocker: true })
    },
  }
}

interface KeyListProps {
  readonly all: readonly ListedKey[]
  readonly view: ReturnType<typeof useKeyFilters>
  readonly onAction: (picked: PickedAction) => void
  readonly create: ReactNode
}

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

interface KeyFilterBarProps {
  readonly view: ReturnType<typeof useKeyFilters>
  readonly revokedCount: number
  /** Some keys are not loaded and were not searched. */
  readonly hasMore: boolean
}

function KeyFilterBar({ view, revokedCount, hasMore }: KeyFilterBarProps) {
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
 * The filters are part of the address. The search text is not, because someone may paste a whole secret to find its
 * key.
 */
function useKeyFilters() {
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
