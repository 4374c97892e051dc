import { Field, TextField } from '../../../ui/Field.tsx'
import { Segmented } from '../../../ui/Segmented.tsx'
import { TextArea } from '../../../ui/TextInput.tsx'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { type ModelChoice, ModelFields } from './ModelFields.tsx'
import { type PlaySettings, readMaxTokens, readTemperature } from './play-settings.ts'
import { ToolsField } from './ToolsField.tsx'

export interface SettingsProps {
  readonly choices: readonly ModelChoice[]
  readonly settings: PlaySettings
  readonly onChange: (change: Partial<PlaySettings>) => void
}

/** Everything of a request beside its conversation. What is wrong says so at once, where it is wrong. */
export function RequestSettings(props: SettingsProps) {
  const { playground } = useMessages()
  const { settings, onChange } = props
  return (
    <div className="grid gap-4">
      <ModelFields {...props} />
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
