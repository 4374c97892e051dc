import { useId } from 'react'
import type { ModelItem } from '../../../queries/account.ts'
import { Field } from '../../../ui/Field.tsx'
import { Select } from '../../../ui/Select.tsx'
import { TextInput } from '../../../ui/TextInput.tsx'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import type { SettingsProps } from './RequestSettings.tsx'

/** Which model, and how hard it thinks. */
export function ModelFields({ choices, settings, onChange }: SettingsProps) {
  const { playground } = useMessages()
  const chosen = choices.find(({ id }) => id === settings.model)
  const unpaid = chosen !== undefined && !chosen.model.kinds.includes(settings.pays)
  return (
    <>
      <Field label={playground.model} error={unpaid ? playground.notForKind : undefined}>
        {(control) => (
          <Select
            {...control}
            value={settings.model}
            options={choices.map(({ id, model }) => ({
              value: id,
              label: model.available ? id : playground.notAvailable(id),
            }))}
            // An effort of one model may mean nothing to the next.
            onPick={(model) => onChange({ model, effort: '' })}
          />
        )}
      </Field>
      {chosen !== undefined && (
        <EffortField chosen={chosen} effort={settings.effort} onChange={(effort) => onChange({ effort })} />
      )}
    </>
  )
}

interface EffortProps {
  readonly chosen: ModelChoice
  readonly effort: string
  readonly onChange: (effort: string) => void
}

function EffortField({ chosen, effort, onChange }: EffortProps) {
  const { playground } = useMessages()
  const id = useId()
  const { efforts } = chosen.model
  if (chosen.decided || efforts?.length === 0) {
    const why = chosen.decided ? playground.effortDecided : playground.effortNone
    return (
      <Field label={playground.effort} hint={why}>
        {(control) => <TextInput {...control} disabled value="" />}
      </Field>
    )
  }
  if (efforts === null) {
    return (
      <Field label={playground.effort} hint={playground.effortFree} optional>
        {(control) => (
          <>
            <TextInput
              {...control}
              list={`${id}-efforts`}
              value={effort}
              onChange={(event) => onChange(event.target.value)}
            />
            <datalist id={`${id}-efforts`}>
              {USUAL.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          </>
        )}
      </Field>
    )
  }
  const options = [{ value: '', label: playground.effortDefault }, ...efforts.map((value) => ({ value, label: value }))]
  return (
    <Field label={playground.effort}>
      {(control) => <Select {...control} value={effort} options={options} onPick={onChange} />}
    </Field>
  )
}

/** Proposed where the catalogue does not say which there are. */
const USUAL = ['minimal', 'low', 'medium', 'high']

export interface ModelChoice {
  readonly id: string
  readonly model: ModelItem
  /** The id has an effort in it already. */
  readonly decided: boolean
}

/** Every id that can be asked: each model, and behind it its ids with an effort. */
export const modelChoices = (models: readonly ModelItem[]): ModelChoice[] =>
  models.flatMap((model) => [
    { id: model.id, model, decided: false },
    ...model.variants.map((id) => ({ id, model, decided: true })),
  ])

/** What was asked for in the address, else the first that would be answered now. */
export function firstChoice(choices: readonly ModelChoice[], wanted: string | undefined): ModelChoice | undefined {
  return choices.find(({ id }) => id === wanted) ?? choices.find(({ model }) => model.available) ?? choices[0]
}
