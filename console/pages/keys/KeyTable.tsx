import { Link, useNavigate } from '@tanstack/react-router'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useMay } from '../../queries/session.ts'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Popover } from '../../ui/Popover.tsx'
import { Time, TimeText } from '../../ui/values.tsx'
import { CapBars } from '../caps/CapBars.tsx'
import { modelsFound } from './find-keys.ts'
import { KeyMenu } from './KeyDialogs.tsx'
import { KeyBadges, KeyStateBadge, type ListedKey, type PickedAction } from './key-facts.tsx'

interface KeyTableProps {
  readonly keys: readonly ListedKey[]
  readonly search: string
  readonly onAction: (picked: PickedAction) => void
}

export function KeyTable({ keys, search, onAction }: KeyTableProps) {
  const { shell } = useMessages()
  const navigate = useNavigate()
  return (
    <DataTable
      caption={shell.pageTitles.keys}
      columns={useColumns(search, onAction)}
      rows={keys}
      rowId={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: '/keys/$key', params: { key: id } })}
    />
  )
}

function useColumns(search: string, onAction: KeyTableProps['onAction']): Column<ListedKey>[] {
  const { keys, common } = useMessages()
  const may = useMay()
  const columns: Column<ListedKey>[] = [
    { id: 'name', header: keys.name, narrow: 'title', cell: (key) => <NameCell keyItem={key} /> },
    { id: 'state', header: keys.state, cell: ({ state }) => <KeyStateBadge state={state} /> },
    { id: 'models', header: keys.models, cell: (key) => <KeyModels keyItem={key} search={search} /> },
    { id: 'caps', header: keys.caps, cell: ({ caps }) => <CapBars caps={caps} as="short" none={keys.noCaps} /> },
    { id: 'used', header: keys.lastUsed, cell: ({ last_used_at: at }) => <Moment at={at} none={keys.neverUsed} /> },
    { id: 'created', header: keys.created, cell: ({ created_at }) => <Time at={created_at} as="day" /> },
    { id: 'expires', header: keys.expires, cell: ({ expires_at: at }) => <Moment at={at} none={keys.never} /> },
  ]
  if (!may('member')) return columns
  const menu = (key: ListedKey) => <KeyMenu keyItem={key} onAction={onAction} />
  return [...columns, { id: 'acts', header: common.actions, quiet: true, align: 'end', narrow: 'corner', cell: menu }]
}

const Moment = ({ at, none }: { at: string | null; none: string }) =>
  at === null ? <span className="text-faint">{none}</span> : <Time at={at} />

function NameCell({ keyItem }: { keyItem: ListedKey }) {
  const { keys } = useMessages()
  const { id, name, shown, former, playground } = keyItem
  return (
    <div className="grid max-w-80 min-w-48 gap-1">
      <Link
        to="/keys/$key"
        params={{ key: id }}
        title={name}
        className="line-clamp-2 min-h-6 w-fit font-semibold wrap-anywhere hover:text-accent hover:underline"
      >
        {name}
      </Link>
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1 font-normal">
        <KeyBadges keyItem={keyItem} />
        {!playground && <code className="text-xs whitespace-nowrap text-faint">{shown}</code>}
      </span>
      {playground && <span className="text-xs font-normal text-faint">{keys.playgroundHint}</span>}
      {former !== null && (
        <span className="text-xs font-normal text-held">
          <TimeText message={(until) => keys.formerUntil(former.shown, until)} at={former.until} />
        </span>
      )}
    </div>
  )
}

/** The models of a key, and those that match the search. */
function KeyModels({ keyItem, search }: { keyItem: ListedKey; search: string }) {
  const { models } = keyItem
  const found = models === null || models.count === 1 ? [] : modelsFound(keyItem, search)
  return (
    <>
      <AllModels models={models} />
      {found.map((model) => (
        <code key={model} className="block text-xs break-all text-soft">
          {model}
        </code>
      ))}
    </>
  )
}

function AllModels({ models }: Pick<ListedKey, 'models'>) {
  const { keys } = useMessages()
  const formats = useFormats()
  if (models === null) return <span className="text-soft">{keys.allModels}</span>
  const { count, first } = models
  const [only] = first
  const more = count - first.length
  if (count === 1) return <code className="break-all">{only}</code>
  return (
    <Popover
      label={keys.showModels}
      trigger={
        <button
          type="button"
          className="figures min-h-6 whitespace-nowrap underline decoration-line underline-offset-4 hover:decoration-edge"
        >
          {formats.plural(count, keys.countOfModels)}
        </button>
      }
    >
      <ul className="grid max-h-72 gap-1 overflow-y-auto">
        {first.map((model) => (
          <li key={model}>
            <code className="break-all">{model}</code>
          </li>
        ))}
        {more > 0 && <li className="text-soft">{formats.plural(more, keys.moreModels)}</li>}
      </ul>
    </Popover>
  )
}
