import { type ReactNode, useMemo } from 'react'
import { addDays } from '../../lib/zone-days.ts'
import { Segmented } from '../../ui/Segmented.tsx'
import { Select } from '../../ui/Select.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { OwnDaysFields } from './OwnDaysFields.tsx'
import { BYS, PRESETS, STEPS, type UsageFilter } from './usage-filter.ts'
import type { UsageRange } from './usage-range.ts'

interface UsageControlsProps {
  readonly filter: UsageFilter
  readonly range: UsageRange
  readonly zone: string
  readonly onChange: (filter: UsageFilter) => void
}

/** Which days, by whose clock, in which steps, split by what. */
export function UsageControls({ filter, range, zone, onChange }: UsageControlsProps) {
  const { usage } = useWords()
  const own = typeof filter.range === 'object' ? filter.range : undefined
  const shown = { from: range.from, through: addDays(range.to, -1) }
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-end gap-x-4 gap-y-2">
        <Segmented
          label={usage.range}
          value={typeof filter.range === 'object' ? 'own' : filter.range}
          options={[...PRESETS, 'own' as const].map((value) => ({ value, label: usage.ranges[value] }))}
          onPick={(picked) => onChange({ ...filter, range: picked === 'own' ? shown : picked })}
        />
        {own !== undefined && <OwnDaysFields days={own} onDays={(days) => onChange({ ...filter, range: days })} />}
      </div>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Labelled label={usage.by}>
          <Segmented
            label={usage.by}
            value={filter.by}
            options={BYS.map((value) => ({ value, label: usage.bys[value] }))}
            onPick={(by) => onChange({ ...filter, by })}
          />
        </Labelled>
        {range.possible.length > 1 && (
          <Labelled label={usage.step}>
            <Segmented
              label={usage.step}
              value={range.step}
              options={STEPS.filter((step) => range.possible.includes(step)).map((value) => ({
                value,
                label: usage.steps[value],
              }))}
              onPick={(step) => onChange({ ...filter, step })}
            />
          </Labelled>
        )}
        <ZoneSelect zone={zone} onPick={(picked) => onChange({ ...filter, zone: picked })} />
      </div>
    </div>
  )
}

const Labelled = ({ label, children }: { label: string; children: ReactNode }) => (
  <span className="flex items-center gap-2 text-sm text-faint">
    <span aria-hidden="true">{label}</span>
    {children}
  </span>
)

/** The person's own zone goes without saying, so that a link without one means the zone of whoever opens it. */
function ZoneSelect({ zone, onPick }: { zone: string; onPick: (zone: string | undefined) => void }) {
  const { usage } = useWords()
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
