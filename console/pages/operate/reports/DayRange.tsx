import { useMemo, useState } from 'react'
import { now } from '../../../lib/clock.ts'
import { isZone } from '../../../lib/preferences.ts'
import { addDays, dayIn, isDay } from '../../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { choicesOf, Segmented, Select, TextInput } from '../../../ui/inputs.tsx'

const RANGES = ['today', '7d', '30d', 'month', 'own'] as const
type RangeName = (typeof RANGES)[number]

export interface ReportRange {
  readonly name: RangeName
  readonly from: string
  /** The day after the last one, as the API expects. */
  readonly to: string
  readonly zone: string
  readonly step: 'hour' | 'day' | 'month'
}

type Search = Readonly<Record<string, string | undefined>>

const DAY_MS = 86_400_000

/** The days of the address. Invalid values are ignored. */
export function readRange({ range, from, through, zone: named }: Search, ownZone: string): ReportRange {
  const zone = named !== undefined && isZone(named) ? named : ownZone
  const today = dayIn(zone, now())
  const last = addDays(today, 1)
  const days = (name: RangeName) => {
    if (name === 'own' && isDay(from) && isDay(through) && from <= through) return { from, to: addDays(through, 1) }
    if (name === 'month') return { from: `${today.slice(0, 8)}01`, to: last }
    return { from: addDays(today, name === 'today' ? 0 : name === '7d' ? -6 : -29), to: last }
  }
  const name = RANGES.find((each) => each === range) ?? '30d'
  const found = days(name)
  const count = (Date.parse(found.to) - Date.parse(found.from)) / DAY_MS
  return { name, ...found, zone, step: count <= 2 ? 'hour' : count <= 100 ? 'day' : 'month' }
}

interface DayRangeProps {
  readonly range: ReportRange
  readonly onChange: (search: Search) => void
}

export function DayRange({ range, onChange }: DayRangeProps) {
  const { reports } = useMessages()
  const own = useFormats().zone
  const zones = useMemo(() => {
    const names = new Set([own, range.zone, 'UTC', ...Intl.supportedValuesOf('timeZone')])
    return [...names].map((value) => ({ value, label: value.replaceAll('_', ' ') }))
  }, [own, range.zone])
  const shown = { from: range.from, through: addDays(range.to, -1) }
  const zone = range.zone === own ? undefined : range.zone
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <Segmented
        label={reports.range}
        value={range.name}
        options={choicesOf(RANGES, reports.ranges)}
        onPick={(name) => onChange(name === 'own' ? { range: name, ...shown, zone } : { range: name, zone })}
      />
      {range.name === 'own' && (
        <OwnDays
          key={`${shown.from} ${shown.through}`}
          days={shown}
          onDays={(days) => onChange({ range: 'own', ...days, zone })}
        />
      )}
      <Select
        aria-label={reports.zone}
        title={reports.zone}
        className="w-48"
        value={range.zone}
        options={zones}
        onPick={(picked) =>
          onChange({
            range: range.name,
            ...(range.name === 'own' && shown),
            zone: picked === own ? undefined : picked,
          })
        }
      />
    </div>
  )
}

interface Days {
  readonly from: string
  readonly through: string
}

/** Incomplete and reversed days do not change the range. */
function OwnDays({ days, onDays }: { days: Days; onDays: (days: Days) => void }) {
  const { reports } = useMessages()
  const [draft, setDraft] = useState(days)
  const change = (changed: Partial<Days>) => {
    const next = { ...draft, ...changed }
    setDraft(next)
    if (isDay(next.from) && isDay(next.through) && next.from <= next.through) onDays(next)
  }
  return (
    <span className="flex items-center gap-2 text-faint">
      {(['from', 'through'] as const).map((end) => (
        <TextInput
          key={end}
          type="date"
          className="max-w-38"
          aria-label={reports[end]}
          value={draft[end]}
          aria-invalid={draft.from > draft.through || undefined}
          onChange={(event) => change({ [end]: event.target.value })}
        />
      ))}
    </span>
  )
}
