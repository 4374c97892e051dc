import { Columns2, X } from 'lucide-react'
import { useId } from 'react'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import type { ModelItem } from '../../queries/account.ts'
import { Button } from '../../ui/Button.tsx'
import { Field, TextField } from '../../ui/Form.tsx'
import { Segmented, Select, TextArea, TextInput } from '../../ui/inputs.tsx'
import { type PlaySettings, readMaxTokens, readTemperature } from './play-settings.ts'
import { EXAMPLE_TOOLS, readTools, type ToolsOutcome } from './read-tools.ts'
import type { OtherModel } from './saved.ts'

interface SettingsProps {
  readonly choices: readonly ModelChoice[]
  readonly settings: PlaySettings
  readonly onChange: (change: Partial<PlaySettings>) => void
}

interface ComparedProps extends SettingsProps {
  readonly other: OtherModel | undefined
  readonly onOther: (other: OtherModel | undefined) => void
}

export function RequestSettings({ other, onOther, ...props }: ComparedProps) {
  const { playground } = useMessages()
  const { settings, onChange } = props
  return (
    <div className="grid grid-cols-1 gap-4">
      <ModelFields {...props} label={playground.model} />
      {other === undefined ? (
        <div>
          <Button onClick={() => onOther({ model: nextModel(props), effort: '' })}>
            <Columns2 aria-hidden="true" />
            {playground.compare}
          </Button>
        </div>
      ) : (
        <>
          <ModelFields
            choices={props.choices}
            settings={{ ...settings, ...other }}
            onChange={({ model = other.model, effort = other.effort }) => onOther({ model, effort })}
            label={playground.compareWith}
          />
          <div>
            <Button onClick={() => onOther(undefined)}>
              <X aria-hidden="true" />
              {playground.compareEnd}
            </Button>
          </div>
        </>
      )}
      <Choice
        label={playground.protocol}
        value={settings.protocol}
        options={['chat', 'responses']}
        names={playground.protocols}
        onPick={(protocol) => onChange({ protocol })}
      />
      <Choice
        label={playground.pays}
        value={settings.pays}
        options={['wallet', 'builder']}
        names={playground.payers}
        onPick={(pays) => onChange({ pays })}
      />
      <Field label={playground.system} hint={playground.systemHint} optional>
        {(control) => (
          <TextArea
            {...control}
            value={settings.system}
            onChange={(event) => onChange({ system: event.target.value })}
          />
        )}
      </Field>
      <Numbers {...props} />
      <ToolsField tools={settings.tools} onChange={(tools) => onChange({ tools })} />
    </div>
  )
}

/** The next available model that the same money pays for. */
function nextModel({ choices, settings }: SettingsProps): string {
  const fit = choices.filter(({ id, model }) => id !== settings.model && model.kinds.includes(settings.pays))
  const next = fit.find(({ model }) => model.available && model.price !== null) ?? fit[0]
  return next?.id ?? settings.model
}

function Numbers({ settings, onChange }: SettingsProps) {
  const { playground } = useMessages()
  const wrongTokens = readMaxTokens(settings.maxTokens) === null
  const wrongTemperature = readTemperature(settings.temperature) === null
  return (
    <div className="grid grid-cols-2 gap-3">
      <TextField
        label={playground.maxTokens}
        error={wrongTokens ? playground.maxTokensWrong : undefined}
        inputMode="numeric"
        value={settings.maxTokens}
        onText={(maxTokens) => onChange({ maxTokens })}
      />
      <TextField
        label={playground.temperature}
        error={wrongTemperature ? playground.temperatureWrong : undefined}
        inputMode="decimal"
        value={settings.temperature}
        onText={(temperature) => onChange({ temperature })}
      />
    </div>
  )
}

interface ChoiceProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: readonly Value[]
  readonly names: Readonly<Record<Value, string>>
  readonly onPick: (value: Value) => void
}

const Choice = <Value extends string>({ label, value, options, names, onPick }: ChoiceProps<Value>) => (
  <div className="flex flex-wrap items-center justify-between gap-2">
    <span aria-hidden="true" className="text-sm font-medium">
      {label}
    </span>
    <Segmented
      label={label}
      value={value}
      options={options.map((option) => ({ value: option, label: names[option] }))}
      onPick={onPick}
    />
  </div>
)

function ModelFields({ choices, settings, onChange, label }: SettingsProps & { readonly label: string }) {
  const { playground } = useMessages()
  const chosen = choices.find(({ id }) => id === settings.model)
  const unpaid = chosen !== undefined && !chosen.model.kinds.includes(settings.pays)
  return (
    <>
      <Field label={label} error={unpaid ? playground.notForKind : undefined}>
        {(control) => (
          <Select
            {...control}
            value={settings.model}
            options={choices.map(({ id, model }) => ({
              value: id,
              label: model.available ? id : playground.notAvailable(id),
            }))}
            // Efforts differ between models.
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

/** Suggested if the catalogue lists no efforts. */
const USUAL = ['minimal', 'low', 'medium', 'high']

export interface ModelChoice {
  readonly id: string
  readonly model: ModelItem
  /** The id already includes an effort. */
  readonly decided: boolean
}

/** All ids that can be requested: each model and its effort variants. */
export const modelChoices = (models: readonly ModelItem[]): ModelChoice[] =>
  models.flatMap((model) => [
    { id: model.id, model, decided: false },
    ...model.variants.map((id) => ({ id, model, decided: true })),
  ])

/** The model of the address, or the first available one. */
export function firstChoice(choices: readonly ModelChoice[], wanted: string | undefined): ModelChoice | undefined {
  return choices.find(({ id }) => id === wanted) ?? choices.find(({ model }) => model.available) ?? choices[0]
}

function ToolsField({ tools, onChange }: { tools: string; onChange: (tools: string) => void }) {
  const { playground } = useMessages()
  const formats = useFormats()
  const fault = useFault()
  const outcome = readTools(tools)
  const count = outcome.kind === 'tools' ? outcome.tools.length : 0
  return (
    <div className="grid gap-1">
      <Field
        label={playground.tools}
        optional
        hint={count > 0 ? formats.plural(count, playground.toolsCount) : playground.toolsHint}
        error={fault(outcome)}
      >
        {(control) => (
          <TextArea
            {...control}
            rows={tools === '' ? 2 : 8}
            spellCheck={false}
            className="font-mono text-xs"
            value={tools}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
      </Field>
      {tools.trim() === '' && (
        <div>
          <Button onClick={() => onChange(EXAMPLE_TOOLS)}>{playground.toolsExample}</Button>
        </div>
      )}
    </div>
  )
}

function useFault(): (outcome: ToolsOutcome) => string | undefined {
  const { toolsWrong } = useMessages().playground
  const formats = useFormats()
  return (outcome) => {
    switch (outcome.kind) {
      case 'tools':
        return undefined
      case 'not-json':
        return toolsWrong.notJson(outcome.message)
      case 'not-a-list':
        return toolsWrong.notAList
      case 'same-name':
        return toolsWrong.sameName(outcome.name)
      case 'wrong-tool': {
        const messageKey = { 'no-function': 'noFunction', 'no-name': 'noName', parameters: 'parameters' } as const
        return toolsWrong[messageKey[outcome.why]](formats.count(outcome.number))
      }
    }
  }
}
