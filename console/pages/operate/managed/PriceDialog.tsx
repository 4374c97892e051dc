import { useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../../queries/mutations.ts'
import { Button } from '../../../ui/Button.tsx'
import { DataTable } from '../../../ui/DataTable.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { Form, FormEnd, TextField } from '../../../ui/Form.tsx'
import { ProblemNote } from '../../../ui/QueryView.tsx'
import { Money } from '../../../ui/values.tsx'
import { type Item, priceText, shapeOf, textOf, useManagedChange } from './managed-entry.ts'

type Preview = AnswerOf<'POST /operate/managed/preview'>

const CLASSES = ['input', 'cached_input', 'cache_write', 'output'] as const

/** A new price of a model, at once or for a date, with who would have paid what. */
export function PriceDialog({ item: { name, entry, prices }, onClose }: { item: Item; onClose: () => void }) {
  const { managed } = useMessages()
  const old = shapeOf(entry?.price)
  const [texts, setTexts] = useState(
    () =>
      Object.fromEntries(CLASSES.map((each) => [each, textOf(old[each])])) as Record<(typeof CLASSES)[number], string>,
  )
  const [day, setDay] = useState('')
  const save = useManagedChange({ done: managed.priceSaved, onDone: onClose })
  const callOff = useManagedChange({ done: managed.calledOff, onDone: onClose })
  const preview = useApiMutation('POST /operate/managed/preview', { problem: 'shown-here' })
  // Tiers and prices per request stay as they are.
  const price = {
    ...Object.fromEntries(Object.entries(old).filter(([key]) => !CLASSES.some((each) => each === key))),
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim() !== '')),
  }
  const send = () => save.send({ prices: [{ model: name, price, ...(day !== '' && { from: day }) }] })
  return (
    <Dialog title={managed.priceOf(name)} open onClose={onClose} width="wide">
      <Form onSend={send}>
        {prices.length > 0 && (
          <Announced
            prices={prices}
            onCallOff={(from) => callOff.send({ prices: [{ model: name, price: null, from }] })}
          />
        )}
        <p className="text-sm text-soft">{managed.priceUnit}</p>
        <div className="grid grid-cols-2 gap-3">
          {CLASSES.map((each) => (
            <TextField
              key={each}
              label={managed.classes[each]}
              optional={each !== 'input' && each !== 'output'}
              required={each === 'input' || each === 'output'}
              inputMode="decimal"
              value={texts[each]}
              onText={(text) => setTexts({ ...texts, [each]: text })}
            />
          ))}
          <TextField label={managed.from} hint={managed.fromHint} optional type="date" value={day} onText={setDay} />
        </div>
        <div>
          <Button onClick={() => preview.mutate({ body: { model: name, price } })} busy={preview.isPending}>
            {managed.preview}
          </Button>
        </div>
        {preview.error !== null && <ProblemNote error={preview.error} />}
        {preview.data !== undefined && <PreviewTable preview={preview.data} />}
        <FormEnd
          mutation={callOff.mutation.error === null ? save.mutation : callOff.mutation}
          go={managed.savePrice}
          onCancel={onClose}
        />
      </Form>
    </Dialog>
  )
}

interface AnnouncedProps {
  readonly prices: Item['prices']
  readonly onCallOff: (from: string) => void
}

function Announced({ prices, onCallOff }: AnnouncedProps) {
  const { managed } = useMessages()
  const formats = useFormats()
  return (
    <ul aria-label={managed.announced} className="grid gap-2 rounded-lg border border-line p-3 text-sm">
      {prices.map(({ from, price }) => (
        <li key={from} className="flex flex-wrap items-center justify-between gap-2">
          <span title={formats.utc(from)}>{managed.announcedFrom(formats.time(from), priceText(price))}</span>
          <Button onClick={() => onCallOff(from)}>{managed.callOff}</Button>
        </li>
      ))}
    </ul>
  )
}

function PreviewTable({ preview }: { preview: Preview }) {
  const { managed } = useMessages()
  const formats = useFormats()
  const { columns } = managed
  const total = { ...preview, account: '', email: managed.total }
  return (
    <div className="grid gap-2">
      <DataTable
        caption={managed.preview}
        rowId={({ email }) => email}
        rows={preview.accounts}
        total={total}
        columns={[
          { id: 'account', header: columns.account, narrow: 'title', cell: ({ email }) => email },
          { id: 'requests', header: columns.requests, align: 'end', cell: ({ requests }) => formats.count(requests) },
          { id: 'charged', header: columns.charged, align: 'end', cell: ({ charged }) => <Money amount={charged} /> },
          { id: 'would', header: columns.wouldBe, align: 'end', cell: ({ would_be }) => <Money amount={would_be} /> },
          { id: 'change', header: columns.change, align: 'end', cell: ({ change }) => <Money amount={change} /> },
        ]}
      />
      <p className="text-xs text-faint">{preview.complete ? managed.previewAll : managed.previewPart}</p>
    </div>
  )
}
