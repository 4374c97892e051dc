import { Link, useNavigate } from '@tanstack/react-router'
import { MessagesSquare } from 'lucide-react'
import type { ReactNode } from 'react'
import { cx } from '../../lib/cx.ts'
import { isZero } from '../../lib/money.ts'
import type { ModelItem } from '../../queries/account.ts'
import { Badge } from '../../ui/Badge.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Hint } from '../../ui/Hint.tsx'
import { Money } from '../../ui/Money.tsx'
import { Tokens } from '../../ui/Tokens.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { messageFor } from '../../messages/message-for.ts'

/** What can be called, and what it costs; each row leads to the playground. */
export function ModelTable({ models }: { models: readonly ModelItem[] }) {
  const { shell } = useMessages()
  const navigate = useNavigate()
  return (
    <DataTable
      caption={shell.areas.models}
      columns={useColumns()}
      rows={models}
      rowId={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: '/playground', search: { model: id } })}
    />
  )
}

function useColumns(): Column<ModelItem>[] {
  const { models } = useMessages()
  const formats = useFormats()
  const { columns: messages } = models
  return [
    { id: 'model', header: messages.model, narrow: 'title', cell: (model) => <ModelName model={model} /> },
    { id: 'state', header: messages.state, narrow: 'corner', cell: (model) => <ModelState model={model} /> },
    {
      id: 'context',
      header: messages.context,
      align: 'end',
      cell: ({ context_tokens }) => <Tokens count={context_tokens} />,
    },
    {
      id: 'output',
      header: messages.output,
      align: 'end',
      cell: ({ max_output_tokens }) => <Tokens count={max_output_tokens} />,
    },
    {
      id: 'inputs',
      header: messages.inputs,
      cell: (model) => formats.list(model.inputs.map((input) => messageFor(models.inputs, input))),
    },
    {
      id: 'kinds',
      header: messages.kinds,
      cell: ({ kinds }) => formats.list(kinds.map((kind) => models[kind])),
    },
    { id: 'price', header: messages.price, align: 'end', cell: (model) => <ModelPrice model={model} /> },
    {
      id: 'open',
      header: messages.actions,
      quiet: true,
      align: 'end',
      narrow: 'corner',
      cell: ({ id }) => (
        <Hint text={models.open}>
          <Link to="/playground" search={{ model: id }} aria-label={models.open} className={buttonClass('quiet')}>
            <MessagesSquare aria-hidden="true" />
          </Link>
        </Hint>
      ),
    },
  ]
}

function ModelState({ model: { available, price } }: { model: ModelItem }) {
  const { models } = useMessages()
  if (price === null) {
    return (
      <span title={models.unpricedText}>
        <Badge tone="held">{models.unpriced}</Badge>
      </span>
    )
  }
  return available ? <Badge tone="good">{models.available}</Badge> : <Badge tone="bad">{models.unavailable}</Badge>
}

/** What a client has to write, to be copied, and the ids that ask for one effort of it. */
function ModelName({ model: { id, variants, efforts, demo } }: { model: ModelItem }) {
  const { models } = useMessages()
  return (
    <div className="grid min-w-0 gap-0.5 md:min-w-52">
      <span className="flex min-w-0 flex-wrap items-center gap-1">
        <code className="min-w-0 font-medium wrap-anywhere">{id}</code>
        <CopyButton text={id} label={models.copyId(id)} />
        {demo && (
          <span title={models.demoText}>
            <Badge>{models.demo}</Badge>
          </span>
        )}
      </span>
      {variants.length > 0 && (
        <span className="flex flex-wrap gap-x-1 gap-y-0.5 text-xs font-normal text-faint">
          <span className="sr-only">{models.efforts}</span>
          {variants.map((variant) => (
            <code key={variant} title={variant} className="rounded bg-sunken px-1">
              {variant.startsWith(id) ? variant.slice(id.length) : variant}
            </code>
          ))}
        </span>
      )}
      {efforts === null && <span className="text-xs font-normal text-faint">{models.anyEffort}</span>}
    </div>
  )
}

type Tier = NonNullable<ModelItem['price']>['tiers'][number]

/** What a million tokens cost: the base price first, then what applies above so many tokens of input. */
function ModelPrice({ model: { price } }: { model: ModelItem }) {
  const { models } = useMessages()
  const formats = useFormats()
  if (price === null) return <span className="text-faint">–</span>
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-0.5 text-end">
      {price.tiers.map((tier) => (
        <TierLine key={tier.above_input_tokens} tier={tier} />
      ))}
      {price.per_request !== null && !isZero(price.per_request) && (
        <Note>{models.perRequest(formats.exactMoney(price.per_request))}</Note>
      )}
    </div>
  )
}

function TierLine({ tier: { above_input_tokens, input, cached_input, cache_write, output } }: { tier: Tier }) {
  const { models } = useMessages()
  const formats = useFormats()
  const isBase = above_input_tokens === 0
  const notes = [
    ...(isBase ? [] : [models.above(formats.count(above_input_tokens))]),
    ...(cache_write === null || cache_write === input ? [] : [models.cacheWrite(formats.exactMoney(cache_write))]),
  ]
  return (
    <>
      <span className={cx('flex flex-wrap justify-end gap-x-2 md:flex-nowrap', !isBase && 'text-soft')}>
        <Rate amount={input} />
        <Rate amount={cached_input} soft />
        <Rate amount={output} />
      </span>
      {notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
    </>
  )
}

const Rate = ({ amount, soft = false }: { amount: string | null; soft?: boolean }) => (
  <span className={cx('text-end md:min-w-14', soft && 'text-faint')}>
    {amount === null ? '–' : <Money amount={amount} digits="exact" />}
  </span>
)

const Note = ({ children }: { children: ReactNode }) => <span className="text-xs text-faint">{children}</span>
