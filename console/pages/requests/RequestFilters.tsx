import { X } from 'lucide-react'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useKeys, useModels } from '../../queries/account.ts'
import { itemsOf } from '../../queries/query.ts'
import type { RequestFilter } from '../../queries/requests.ts'
import { Button } from '../../ui/Button.tsx'
import { choicesOf, Segmented, Select } from '../../ui/inputs.tsx'

interface RequestFiltersProps {
  readonly filter: RequestFilter
  /** An empty value removes a filter. */
  readonly onChange: (change: Partial<Record<keyof RequestFilter, string>>) => void
}

export function RequestFilters({ filter, onChange }: RequestFiltersProps) {
  const { requests } = useMessages()
  const { endings, payers } = requests
  return (
    <fieldset className="flex flex-wrap items-center gap-2">
      <legend className="sr-only">{requests.filters}</legend>
      <KeySelect value={filter.key ?? ''} onPick={(key) => onChange({ key })} />
      <ModelSelect value={filter.model ?? ''} onPick={(model) => onChange({ model })} />
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
      {isFiltered(filter) && (
        <Button tone="quiet" onClick={() => onChange({ key: '', model: '', outcome: '', kind: '' })}>
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
  const keys = itemsOf(useKeys().data).map(({ id, name }) => ({ value: id, label: name }))
  return (
    <Select
      aria-label={requests.columns.key}
      className="w-40"
      value={value}
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

type Search = Readonly<Record<string, string | undefined>>

const ENDINGS = ['ok', 'not_ok', 'running'] as const
const PAYERS = ['wallet', 'builder'] as const

const text = (value: string | undefined) => (value === undefined || value === '' ? undefined : value)

/** Ignores values in the address that are not valid. */
export function readRequestFilter(search: Search): RequestFilter {
  const [key, model] = [text(search.key), text(search.model)]
  const outcome = ENDINGS.find((ending) => ending === search.outcome)
  const kind = PAYERS.find((payer) => payer === search.kind)
  return {
    ...(key !== undefined && { key }),
    ...(model !== undefined && { model }),
    ...(outcome !== undefined && { outcome }),
    ...(kind !== undefined && { kind }),
  }
}

export const isFiltered = (filter: RequestFilter): boolean => Object.keys(filter).length > 0
