import { X } from 'lucide-react'
import { type ReactNode, useMemo, useState } from 'react'
import { addDays, isDay } from '../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useKeys } from '../../queries/account.ts'
import { itemsOf } from '../../queries/query.ts'
import { Button } from '../../ui/Button.tsx'
import { choicesOf, Segmented, Select, TextInput } from '../../ui/inputs.tsx'
import {
  ANY_TAG,
  BYS,
  type By,
  GROUPINGS,
  groupBy,
  isNarrowed,
  isTagName,
  type OwnDays,
  PRESETS,
  STEPS,
  type UsageFilter,
  type UsageRange,
} from './usage-filter.ts'

interface UsageControlsProps {
  readonly filter: UsageFilter
  readonly range: UsageRange
  readonly zone: string
  readonly onChange: (filter: UsageFilter) => void
}

export function UsageControls({ filter, range, zone, onChange }: UsageControlsProps) {
  const { usage } = useMessages()
  const own = typeof filter.range === 'object' ? filter.range : undefined
  const shown = { from: range.from, through: addDays(range.to, -1) }
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-end gap-x-4 gap-y-2">
        <Segmented
          label={usage.range}
          value={typeof filter.range === 'object' ? 'own' : filter.range}
          options={choicesOf([...PRESETS, 'own' as const], usage.ranges)}
          onPick={(picked) => onChange({ ...filter, range: picked === 'own' ? shown : picked })}
        />
        {own !== undefined && <OwnDaysFields days={own} onDays={(days) => onChange({ ...filter, range: days })} />}
      </div>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Labelled label={usage.by}>
          <Segmented
            label={usage.by}
            value={filter.by}
            options={choicesOf(GROUPINGS, usage.bys)}
            onPick={(by) => onChange(groupBy(filter, by))}
          />
          {filter.by === 'tag' && <TagName filter={filter} onChange={onChange} />}
        </Labelled>
        {range.possible.length > 1 && (
          <Labelled label={usage.step}>
            <Segmented
              label={usage.step}
              value={range.step}
              options={choicesOf(
                STEPS.filter((step) => range.possible.includes(step)),
                usage.steps,
              )}
              onPick={(step) => onChange({ ...filter, step })}
            />
          </Labelled>
        )}
        <ZoneSelect zone={zone} onPick={(picked) => onChange({ ...filter, zone: picked })} />
      </div>
    </div>
  )
}

/** An incomplete name does not change the report. */
function TagName({ filter, onChange }: Pick<UsageControlsProps, 'filter' | 'onChange'>) {
  const { usage } = useMessages()
  const [typed, setTyped] = useState(filter.tag ?? ANY_TAG)
  return (
    <TextInput
      aria-label={usage.tagName}
      title={usage.tagHint}
      className="max-w-32"
      spellCheck={false}
      maxLength={32}
      value={typed}
      aria-invalid={!isTagName(typed) || undefined}
      onChange={({ target: { value } }) => {
        setTyped(value)
        if (isTagName(value)) onChange({ ...filter, tag: value })
      }}
    />
  )
}

const Labelled = ({ label, children }: { label: string; children: ReactNode }) => (
  <span className="flex flex-wrap items-center gap-2 text-sm text-faint">
    <span aria-hidden="true">{label}</span>
    {children}
  </span>
)

/** The default zone is left out of the address, so that a link uses the zone of its reader. */
function ZoneSelect({ zone, onPick }: { zone: string; onPick: (zone: string | undefined) => void }) {
  const { usage } = useMessages()
  const own = useFormats().zone
  const options = useMemo(() => {
    const zones = new Set([own, zone, 'UTC', ...Intl.supportedValuesOf('timeZone')])
    return [...zones].map((value) => ({ value, label: value.replaceAll('_', ' ') }))
  }, [own, zone])
  return (
    <Select
      aria-label={usage.zone}
      title={usage.zone}
      className="w-48"
      value={zone}
      options={options}
      onPick={(picked) => onPick(picked === own ? undefined : picked)}
    />
  )
}

interface OwnDaysFieldsProps {
  readonly days: OwnDays
  readonly onDays: (days: OwnDays) => void
}

/** Incomplete dates do not change the range. */
function OwnDaysFields({ days, onDays }: OwnDaysFieldsProps) {
  const { usage } = useMessages()
  const [draft, setDraft] = useState(days)
  const change = (changed: Partial<OwnDays>) => {
    const next = { ...draft, ...changed }
    setDraft(next)
    if (isDay(next.from) && isDay(next.through) && next.from <= next.through) onDays(next)
  }
  const isWrong = isDay(draft.from) && isDay(draft.through) && draft.from > draft.through
  const day = (end: keyof OwnDays) => (
    <TextInput
      type="date"
      className="max-w-38"
      aria-label={usage[end]}
      title={usage[end]}
      value={draft[end]}
      aria-invalid={isWrong || undefined}
      onChange={(event) => change({ [end]: event.target.value })}
    />
  )
  return (
    <div className="grid gap-1">
      <div className="flex items-center gap-2 text-faint">
        {day('from')}
        <span aria-hidden="true">–</span>
        {day('through')}
      </div>
      {isWrong && (
        <p role="alert" className="text-xs font-medium text-bad">
          {usage.wrongDays}
        </p>
      )}
    </div>
  )
}

interface UsageChipsProps {
  readonly filter: UsageFilter
  readonly onChange: (filter: UsageFilter) => void
}

/** The active filters. Removing one restores its grouping. */
export function UsageChips({ filter, onChange }: UsageChipsProps) {
  const { usage } = useMessages()
  const nameOf = useNameOf()
  if (!isNarrowed(filter)) return null
  return (
    <ul aria-label={usage.filters} className="flex flex-wrap items-center gap-2">
      {BYS.map((by) => {
        const value = filter[by]
        if (value === undefined) return null
        const name = `${usage.bys[by]}: ${nameOf(by, value)}`
        return (
          <li key={by} className="max-w-full">
            <button
              type="button"
              aria-label={usage.dropFilter(name)}
              onClick={() => onChange({ ...filter, [by]: undefined, by })}
              className="flex min-h-7 max-w-full items-center gap-1.5 rounded-full bg-accent-wash ps-3 pe-2 text-sm font-medium text-accent hover:bg-hover"
            >
              <span className="truncate">{name}</span>
              <X aria-hidden="true" className="size-3.5 shrink-0" />
            </button>
          </li>
        )
      })}
      <li>
        <Button tone="quiet" onClick={() => onChange({ ...filter, model: undefined, key: undefined, kind: undefined })}>
          {usage.clear}
        </Button>
      </li>
    </ul>
  )
}

function useNameOf(): (by: By, id: string) => string {
  const { usage } = useMessages()
  const keys = itemsOf(useKeys().data)
  return (by, id) => {
    if (by === 'key') return keys.find((key) => key.id === id)?.name ?? id
    return id === 'wallet' || id === 'builder' ? usage.kinds[id] : id
  }
}
