import { Download, Plus, Waypoints } from 'lucide-react'
import { useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { useApiMutation, useDownload } from '../../../queries/mutations.ts'
import { useManaged } from '../../../queries/operate.ts'
import { Button } from '../../../ui/Button.tsx'
import { type Column, DataTable } from '../../../ui/DataTable.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { Form, FormEnd } from '../../../ui/Form.tsx'
import { Badge, Empty, Page, PageHeader, Panel } from '../../../ui/layout.tsx'
import { QueryView } from '../../../ui/QueryView.tsx'
import { AddProviderDialog } from './AddProviderDialog.tsx'
import { PriceDialog } from './PriceDialog.tsx'

type Item = AnswerOf<'GET /operate/managed'>['items'][number]

export function ManagedPage() {
  const { shell, managed } = useMessages()
  const query = useManaged()
  const [adding, setAdding] = useState(false)
  const [priced, setPriced] = useState<Item>()
  const [retired, setRetired] = useState<Item>()
  const download = useDownload('GET /operate/managed.yaml')
  const columns = useColumns({ onPrice: setPriced, onRetire: setRetired })
  const actions = (
    <>
      <Button onClick={() => download.mutate({})} busy={download.isPending}>
        <Download aria-hidden="true" />
        {managed.export}
      </Button>
      <Button tone="primary" onClick={() => setAdding(true)}>
        <Plus aria-hidden="true" />
        {managed.add}
      </Button>
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
      {adding && <AddProviderDialog onClose={() => setAdding(false)} />}
      {priced !== undefined && <PriceDialog item={priced} onClose={() => setPriced(undefined)} />}
      {retired !== undefined && <RetireDialog item={retired} onClose={() => setRetired(undefined)} />}
    </Page>
  )
}

interface RowActions {
  readonly onPrice: (item: Item) => void
  readonly onRetire: (item: Item) => void
}

function useColumns({ onPrice, onRetire }: RowActions): readonly Column<Item>[] {
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
      cell: ({ entry }) => <span className="figures">{priceText(entry)}</span>,
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
      cell: (item) =>
        item.entry === null ? null : (
          <span className="inline-flex gap-2">
            {item.kind === 'model' && item.file === null && (
              <Button aria-label={managed.priceOf(item.name)} onClick={() => onPrice(item)}>
                {managed.price}
              </Button>
            )}
            <Button aria-label={managed.retireOf(item.name)} onClick={() => onRetire(item)}>
              {managed.retire}
            </Button>
          </span>
        ),
    },
  ]
}

function priceText(entry: Item['entry']): string {
  const price = entry?.price
  if (typeof price !== 'object' || price === null) return ''
  const { input, output } = price as { readonly input?: unknown; readonly output?: unknown }
  return `${String(input)} / ${String(output)}`
}

function RetireDialog({ item: { kind, name }, onClose }: { item: Item; onClose: () => void }) {
  const { managed } = useMessages()
  const retire = useApiMutation('POST /operate/managed', {
    done: managed.retired,
    onDone: onClose,
    problem: 'shown-here',
  })
  return (
    <Dialog title={managed.retireOf(name)} open onClose={onClose}>
      <Form onSend={() => retire.mutate({ body: { retire: [{ kind, name }] } })}>
        <p className="text-soft">{managed.retireText}</p>
        <FormEnd mutation={retire} go={managed.retire} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
