import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, Ellipsis, History, Pencil, Plus, Tag, Trash2, Waypoints } from 'lucide-react'
import { Suspense, useState } from 'react'
import { lazyPart } from '../../../lib/lazy-part.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { useDownload } from '../../../queries/mutations.ts'
import { useManaged } from '../../../queries/operate.ts'
import { Button, IconButton } from '../../../ui/Button.tsx'
import { type Column, DataTable } from '../../../ui/DataTable.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { Form, FormEnd } from '../../../ui/Form.tsx'
import { Badge, Empty, Page, PageHeader, Panel } from '../../../ui/layout.tsx'
import { Menu, MenuItem } from '../../../ui/Menu.tsx'
import { QueryView } from '../../../ui/QueryView.tsx'
import { type EntryDialogProps, type Item, priceText, useManagedChange } from './managed-entry.ts'

const DIALOGS = {
  upstream: lazyPart(async () => (await import('./ProviderDialog.tsx')).ProviderDialog),
  model: lazyPart(async () => (await import('./ModelDialog.tsx')).ModelDialog),
  plan: lazyPart(async () => (await import('./PlanDialog.tsx')).PlanDialog),
} as const
const HistoryDialog = lazyPart(async () => (await import('./HistoryDialog.tsx')).HistoryDialog)
const PriceDialog = lazyPart(async () => (await import('./PriceDialog.tsx')).PriceDialog)

const KINDS = ['upstream', 'model', 'plan'] as const

/** `item`: of the list; without one, a new entry. */
type Opened =
  | { readonly what: 'entry'; readonly kind: Item['kind']; readonly item?: Item }
  | { readonly what: 'price'; readonly item: Item }
  | { readonly what: 'history'; readonly item: Item }
  | { readonly what: 'retire'; readonly item: Item }

/** `?add=plan` opens the form of a new entry. */
function useOpened() {
  const navigate = useNavigate()
  const { add } = useSearch({ strict: false }) as { add?: string }
  const asked = KINDS.find((kind) => kind === add)
  const [opened, setOpened] = useState<Opened | undefined>(asked && { what: 'entry', kind: asked })
  const close = () => {
    setOpened(undefined)
    // The closing dialog still blocks navigation, and this navigation stays on the page.
    if (add !== undefined) void navigate({ to: '/operate/managed', search: {}, replace: true, ignoreBlocker: true })
  }
  return { opened, open: setOpened, close }
}

export function ManagedPage() {
  const { shell, managed } = useMessages()
  const query = useManaged()
  const { opened, open, close } = useOpened()
  const download = useDownload('GET /operate/managed.yaml')
  const columns = useColumns(open)
  const add = (kind: Item['kind'], label: string, tone: 'primary' | 'plain' = 'plain') => (
    <Button tone={tone} onClick={() => open({ what: 'entry', kind })}>
      <Plus aria-hidden="true" />
      {label}
    </Button>
  )
  const actions = (
    <>
      <Button onClick={() => download.mutate({})} busy={download.isPending}>
        <Download aria-hidden="true" />
        {managed.export}
      </Button>
      {add('plan', managed.addPlan)}
      {add('model', managed.addModel)}
      {add('upstream', managed.add, 'primary')}
    </>
  )
  return (
    <Page>
      <PageHeader title={shell.pageTitles.managed} about={managed.about} actions={actions} />
      <Panel padding="flush">
        <QueryView query={query} lines={6}>
          {({ items, not_applied }) => (
            <>
              {not_applied !== null && (
                <div role="alert" className="grid gap-1 border-b border-line p-4 text-held">
                  <p className="font-medium">{managed.notApplied}</p>
                  <pre className="overflow-x-auto text-xs">{not_applied}</pre>
                </div>
              )}
              {items.length === 0 ? (
                <Empty icon={Waypoints} title={managed.none} text={managed.noneText} />
              ) : (
                <DataTable
                  caption={shell.pageTitles.managed}
                  columns={columns}
                  rows={items}
                  rowId={({ kind, name }) => `${kind} ${name}`}
                />
              )}
            </>
          )}
        </QueryView>
      </Panel>
      {opened !== undefined && query.data !== undefined && (
        <Suspense fallback={null}>
          <OpenDialog opened={opened} items={query.data.items} onClose={close} />
        </Suspense>
      )}
    </Page>
  )
}

interface OpenDialogProps extends Pick<EntryDialogProps, 'items' | 'onClose'> {
  readonly opened: Opened
}

function OpenDialog({ opened, items, onClose }: OpenDialogProps) {
  if (opened.what === 'price') return <PriceDialog item={opened.item} onClose={onClose} />
  if (opened.what === 'history') return <HistoryDialog item={opened.item} onClose={onClose} />
  if (opened.what === 'retire') return <RetireDialog item={opened.item} onClose={onClose} />
  const EntryDialog = DIALOGS[opened.kind]
  return <EntryDialog item={opened.item} items={items} onClose={onClose} />
}

function useColumns(open: (opened: Opened) => void): readonly Column<Item>[] {
  const { managed } = useMessages()
  const formats = useFormats()
  const { columns } = managed
  return [
    {
      id: 'name',
      header: columns.name,
      narrow: 'title',
      cell: ({ name }) => <span className="font-medium">{name}</span>,
    },
    { id: 'kind', header: columns.kind, cell: ({ kind }) => managed.kinds[kind] },
    {
      id: 'owner',
      header: columns.owner,
      cell: ({ file }) => (file === null ? <Badge tone="accent">{managed.managed}</Badge> : <code>{file}</code>),
    },
    {
      id: 'price',
      header: columns.price,
      align: 'end',
      cell: ({ file, entry, price }) => priceText(file === null ? entry?.price : price),
    },
    {
      id: 'next',
      header: columns.next,
      cell: ({ prices: [next] }) => (next === undefined ? '' : formats.time(next.from)),
    },
    {
      id: 'state',
      header: columns.state,
      cell: ({ problem, file, entry }) =>
        problem !== null ? (
          <Badge tone="bad">{managed.leftOut}</Badge>
        ) : file !== null && entry !== null ? (
          <Badge tone="held">{managed.fileDecides}</Badge>
        ) : (
          managed.inForce
        ),
    },
    {
      id: 'actions',
      header: columns.actions,
      quiet: true,
      align: 'end',
      narrow: 'corner',
      cell: (item) => (item.entry === null ? null : <RowMenu item={item} open={open} />),
    },
  ]
}

function RowMenu({ item, open }: { item: Item; open: (opened: Opened) => void }) {
  const { managed } = useMessages()
  const isOwn = item.file === null
  // The demo has nothing to change.
  const isEditable = isOwn && (item.kind !== 'upstream' || item.entry?.base_url !== undefined)
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={managed.actionsFor(item.name)} />}>
      {isEditable && (
        <MenuItem icon={Pencil} onPick={() => open({ what: 'entry', kind: item.kind, item })}>
          {managed.edit}
        </MenuItem>
      )}
      {item.kind === 'model' && isOwn && (
        <MenuItem icon={Tag} onPick={() => open({ what: 'price', item })}>
          {managed.price}
        </MenuItem>
      )}
      <MenuItem icon={History} onPick={() => open({ what: 'history', item })}>
        {managed.history.open}
      </MenuItem>
      <MenuItem icon={Trash2} tone="danger" onPick={() => open({ what: 'retire', item })}>
        {managed.retire}
      </MenuItem>
    </Menu>
  )
}

function RetireDialog({ item: { kind, name }, onClose }: { item: Item; onClose: () => void }) {
  const { managed } = useMessages()
  const { mutation, send } = useManagedChange({ done: managed.retired, onDone: onClose })
  return (
    <Dialog title={managed.retireOf(name)} open onClose={onClose}>
      <Form onSend={() => send({ retire: [{ kind, name }] })}>
        <p className="text-soft">{managed.retireText}</p>
        <FormEnd mutation={mutation} go={managed.retire} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
