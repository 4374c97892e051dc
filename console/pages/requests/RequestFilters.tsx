import { X } from 'lucide-react'
import { useState } from 'react'
import { isDay, rangeOfDays } from '../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useKeys, useModels } from '../../queries/account.ts'
import { itemsOf, useAllPages } from '../../queries/query.ts'
import type { RequestFilter } from '../../queries/requests.ts'
import { Button } from '../../ui/Button.tsx'
import { choicesOf, Segmented, Select, TextInput } from '../../ui/inputs.tsx'

interface RequestFiltersProps {
  readonly filter: RequestFilter
  /** An empty value removes a filter. */
  readonly onChange: (change: Partial<Record<keyof RequestFilter, string>>) => void
}

export function RequestFilters({ filter, onChange }: RequestFiltersProps) {
  const { requests } = useMessages()
  const { endings, payers } = requests
  const { zone } = useFormats()
  return (
    <fieldset className="flex flex-wrap items-center gap-2">
      <legend className="sr-only">{requests.filters}</legend>
      <KeySelect value={filter.key ?? ''} onPick={(key) => onChange({ key })} />
      <ModelSelect value={filter.model ?? ''} onPick={(model) => onChange({ model })} />
      <TagField key={filter.tag} value={filter.tag ?? ''} onPick={(tag) => onChange({ tag })} />
      <Segmented
        label={requests.ended}
        value={filter.outcome ?? ''}
        options={choicesOf(['', ...ENDINGS], { '': endings.any, ...endings })}
        onPick={(outcome) => onChange({ outcome })}
      />
      <Segmented
        label={requests.payer}
        value={filter.kind ?? ''}
        options={choicesOf(['', ...PAYERS], { '': payers.any, ...payers })}
        onPick={(kind) => onChange({ kind })}
      />
      {(['from', 'to'] as const).map((name) => (
        <div key={name} className="flex items-center gap-2 text-sm whitespace-nowrap text-faint">
          <span aria-hidden="true">{requests.days[name]}</span>
          <TextInput
            type="date"
            className="max-w-36"
            aria-label={requests.days[name]}
            title={zone}
            value={filter[name] ?? ''}
            onChange={(event) => onChange({ [name]: event.target.value })}
          />
        </div>
      ))}
      {isFiltered(filter) && (
        <Button
          tone="quiet"
          onClick={() => onChange({ key: '', model: '', outcome: '', kind: '', tag: '', from: '', to: '' })}
        >
          <X aria-hidden="true" />
          {requests.clear}
        </Button>
      )}
    </fieldset>
  )
}

interface ChoiceProps {
  readonly value: string
  readonly onPick: (value: string) => void
}

/** Keeps the value of the address selectable even if it is unknown. */
function withChosen(value: string, options: readonly { value: string; label: string }[]) {
  return value === '' || options.some((option) => option.value === value)
    ? options
    : [...options, { value, label: value }]
}

function KeySelect({ value, onPick }: ChoiceProps) {
  const { requests } = useMessages()
  const query = useKeys()
  const [isOpened, setIsOpened] = useState(false)
  useAllPages(query, isOpened)
  const keys = itemsOf(query.data).map(({ id, name }) => ({ value: id, label: name }))
  return (
    <Select
      aria-label={requests.columns.key}
      className="w-40"
      value={value}
      onFocus={() => setIsOpened(true)}
      options={withChosen(value, [{ value: '', label: requests.anyKey }, ...keys])}
      onPick={onPick}
    />
  )
}

function ModelSelect({ value, onPick }: ChoiceProps) {
  const { requests } = useMessages()
  const models = (useModels().data?.items ?? []).map(({ id }) => ({ value: id, label: id }))
  return (
    <Select
      aria-label={requests.detail.model}
      className="w-40"
      value={value}
      options={withChosen(value, [{ value: '', label: requests.anyModel }, ...models])}
      onPick={onPick}
    />
  )
}

/** As receipts have tags: `repo:millrace`. `repo=millrace`, as programs send it, is the same. */
const tagOf = (typed: string): string => typed.trim().replace(/^([a-z][a-z0-9_.-]*)=/, '$1:')
const TAG = /^[a-z][a-z0-9_.-]{0,31}:[\x21\x23-\x2b\x2d-\x7e]{1,64}$/

/** Searches when the field is left or with Enter. */
function TagField({ value, onPick }: ChoiceProps) {
  const { requests } = useMessages()
  const [typed, setTyped] = useState(value)
  const tag = tagOf(typed)
  const isWrong = tag !== '' && !TAG.test(tag)
  const send = () => !isWrong && tag !== value && onPick(tag)
  return (
    <TextInput
      className="max-w-44"
      aria-label={requests.tag}
      placeholder={requests.tagPlaceholder}
      spellCheck={false}
      maxLength={98}
      value={typed}
      aria-invalid={isWrong || undefined}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={send}
      onKeyDown={(event) => event.key === 'Enter' && send()}
    />
  )
}

type Search = Readonly<Record<string, string | undefined>>

const ENDINGS = ['ok', 'not_ok', 'running'] as const
const PAYERS = ['wallet', 'builder'] as const

const text = (value: string | undefined) => (value === undefined || value === '' ? undefined : value)

/** Ignores values in the address that are not valid. */
export function readRequestFilter(search: Search): RequestFilter {
  const [key, model, tag] = [text(search.key), text(search.model), text(search.tag)]
  const outcome = ENDINGS.find((ending) => ending === search.outcome)
  const kind = PAYERS.find((payer) => payer === search.kind)
  return {
    ...(key !== undefined && { key }),
    ...(model !== undefined && { model }),
    ...(outcome !== undefined && { outcome }),
    ...(kind !== undefined && { kind }),
    ...(tag !== undefined && TAG.test(tag) && { tag }),
    ...(isDay(search.from) && { from: search.from }),
    ...(isDay(search.to) && { to: search.to }),
  }
}

/** The days of the filter, which are inclusive, as the API takes them. An end before the begin is the begin. */
export const queryOfFilter = ({ from, to, ...others }: RequestFilter, zone: string): RequestFilter => ({
  ...others,
  ...rangeOfDays(
    {
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to: from !== undefined && to < from ? from : to }),
    },
    zone,
  ),
})

export const isFiltered = (filter: RequestFilter): boolean => Object.keys(filter).length > 0
