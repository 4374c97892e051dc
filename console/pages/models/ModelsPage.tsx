import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Boxes, MessagesSquare, SearchX } from 'lucide-react'
import type { ReactNode } from 'react'
import { cx } from '../../lib/cx.ts'
import { isZero } from '../../lib/money.ts'
import { messageFor, useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { type ModelItem, useModels } from '../../queries/account.ts'
import { useMay } from '../../queries/session.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Hint } from '../../ui/Hint.tsx'
import { Checkbox, choicesOf, SearchInput, Segmented } from '../../ui/inputs.tsx'
import { Badge, Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Money, Tokens } from '../../ui/values.tsx'

const ALL: ModelFilter = { text: '', kind: 'any', onlyAvailable: false }

export function ModelsPage() {
  const { shell, models } = useMessages()
  const query = useModels()
  const navigate = useNavigate()
  const filter = readModelFilter(useSearch({ strict: false }))
  const change = (next: ModelFilter) =>
    void navigate({ to: '/models', search: writeModelFilter(next), replace: true, resetScroll: false })
  return (
    <Page>
      <PageHeader title={shell.pageTitles.models} about={models.about} />
      <QueryView query={query} lines={10}>
        {({ items }) => {
          const found = findModels(items, filter)
          if (items.length === 0) {
            return (
              <Panel>
                <Empty
                  icon={Boxes}
                  title={models.empty.title}
                  text={models.empty.text}
                  action={<Button onClick={() => void query.refetch()}>{models.empty.action}</Button>}
                />
              </Panel>
            )
          }
          return (
            <>
              <ModelFilters filter={filter} onChange={change} shown={found.length} all={items.length} />
              <Panel padding="flush">
                {found.length === 0 ? (
                  <Empty
                    icon={SearchX}
                    title={models.empty.filteredTitle}
                    text={models.empty.filteredText}
                    action={<Button onClick={() => change(ALL)}>{models.empty.clear}</Button>}
                  />
                ) : (
                  <ModelTable models={found} />
                )}
              </Panel>
            </>
          )
        }}
      </QueryView>
    </Page>
  )
}

interface ModelFiltersProps {
  readonly filter: ModelFilter
  readonly onChange: (filter: ModelFilter) => void
  readonly shown: number
  readonly all: number
}

function ModelFilters({ filter, onChange, shown, all }: ModelFiltersProps) {
  const { models } = useMessages()
  const formats = useFormats()
  return (
    <search className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <SearchInput
        label={models.search}
        className="w-full sm:w-64"
        value={filter.text}
        onText={(text) => onChange({ ...filter, text })}
      />
      <Segmented
        label={models.kind}
        value={filter.kind}
        options={choicesOf(['any', 'wallet', 'builder'], models.kinds)}
        onPick={(kind) => onChange({ ...filter, kind })}
      />
      <Checkbox
        label={models.onlyAvailable}
        checked={filter.onlyAvailable}
        onChange={(event) => onChange({ ...filter, onlyAvailable: event.target.checked })}
      />
      <span className="figures ms-auto text-sm text-faint" aria-live="polite">
        {shown === all
          ? formats.plural(all, models.count)
          : models.countOf(formats.count(shown), formats.plural(all, models.count))}
      </span>
    </search>
  )
}

function ModelTable({ models }: { models: readonly ModelItem[] }) {
  const { shell } = useMessages()
  const navigate = useNavigate()
  const plays = useMay()('member')
  const columns = useColumns()
  return (
    <DataTable
      caption={shell.pageTitles.models}
      columns={plays ? columns : columns.filter(({ id }) => id !== 'open')}
      rows={models}
      rowId={({ id }) => id}
      {...(plays && { onOpen: ({ id }: ModelItem) => void navigate({ to: '/playground', search: { model: id } }) })}
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
    { id: 'day', header: messages.day, align: 'end', cell: (model) => <ModelDay model={model} /> },
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

/** How well it has answered lately. Each figure has its own number of requests. */
function ModelDay({ model: { day } }: { model: ModelItem }) {
  const { models } = useMessages()
  const formats = useFormats()
  const { success_percent, first_ms, tokens_per_second } = day
  if (success_percent === null && first_ms === null) {
    return (
      <span title={models.fewText} className="text-faint">
        {models.few}
      </span>
    )
  }
  const speed = [
    ...(first_ms === null ? [] : [models.first(formats.duration(first_ms))]),
    ...(tokens_per_second === null ? [] : [models.rate(formats.count(tokens_per_second))]),
  ]
  return (
    <div title={models.dayText} className="figures grid gap-0.5 text-end whitespace-nowrap">
      {success_percent !== null && <span>{models.answered(formats.count(success_percent))}</span>}
      {speed.map((text) => (
        <Note key={text}>{text}</Note>
      ))}
    </div>
  )
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

/** The model id with a copy button, and its effort variants. */
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

/** The base price first, then the prices above a number of input tokens. */
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
      {Object.values(price.multipliers ?? {})
        .flatMap((factors) => Object.entries(factors))
        .map(([value, factor]) => (
          <Note key={value}>{models.multiplied(value, formats.count(Number(factor)))}</Note>
        ))}
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

export interface ModelFilter {
  readonly text: string
  readonly kind: 'any' | ModelItem['kinds'][number]
  readonly onlyAvailable: boolean
}

export function findModels(models: readonly ModelItem[], { text, kind, onlyAvailable }: ModelFilter): ModelItem[] {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean)
  return models.filter((model) => {
    const names = [model.id, ...model.variants].join('\n').toLowerCase()
    return (
      terms.every((term) => names.includes(term)) &&
      (kind === 'any' || model.kinds.includes(kind)) &&
      (!onlyAvailable || model.available)
    )
  })
}

type Search = Readonly<Record<string, string | undefined>>

export const readModelFilter = (search: Search): ModelFilter => ({
  text: search.search ?? '',
  kind: search.kind === 'wallet' || search.kind === 'builder' ? search.kind : 'any',
  onlyAvailable: search.available === 'yes',
})

export const writeModelFilter = ({ text, kind, onlyAvailable }: ModelFilter): Record<string, string> => ({
  ...(text !== '' && { search: text }),
  ...(kind !== 'any' && { kind }),
  ...(onlyAvailable && { available: 'yes' }),
})
