import { useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { useSecretMutation } from '../../../queries/mutations.ts'
import { Button } from '../../../ui/Button.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { Field, Form, FormEnd, TextField } from '../../../ui/Form.tsx'
import { Checkbox, PasswordInput, Select } from '../../../ui/inputs.tsx'
import { ChosenModels, type Draft, draftOf, entryOf } from './ChosenModels.tsx'
import {
  type EntryDialogProps,
  type Item,
  type Shape,
  textOf,
  useManagedChange,
  useTakenText,
} from './managed-entry.ts'

type Found = AnswerOf<'POST /operate/managed/models'>['models']

/** Names of providers are the same in every language. */
const PROVIDERS = {
  openai: { name: 'OpenAI', wire: 'chat', base_url: 'https://api.openai.com/v1' },
  anthropic: { name: 'Anthropic', wire: 'anthropic', base_url: 'https://api.anthropic.com/v1' },
  google: { name: 'Google Gemini', wire: 'gemini', base_url: 'https://generativelanguage.googleapis.com/v1beta' },
  mistral: { name: 'Mistral', wire: 'chat', base_url: 'https://api.mistral.ai/v1' },
  deepseek: { name: 'DeepSeek', wire: 'chat', base_url: 'https://api.deepseek.com/v1' },
  groq: { name: 'Groq', wire: 'chat', base_url: 'https://api.groq.com/openai/v1' },
  xai: { name: 'xAI', wire: 'chat', base_url: 'https://api.x.ai/v1' },
  openrouter: { name: 'OpenRouter', wire: 'chat', base_url: 'https://openrouter.ai/api/v1' },
} as const
type Known = keyof typeof PROVIDERS
type Kind = Known | 'other'

const KINDS = [...(Object.keys(PROVIDERS) as Known[]), 'other'] as const

interface ProviderDraft {
  readonly kind: Kind
  readonly id: string
  readonly url: string
  readonly key: string
  readonly isPrivate: boolean
  /** One that is saved. Keys without a field stay. */
  readonly saved: Shape | undefined
}

const providerOf = (kind: Kind): ProviderDraft => ({
  ...{ kind, id: kind === 'other' ? '' : kind, url: kind === 'other' ? '' : PROVIDERS[kind].base_url },
  ...{ key: '', isPrivate: false, saved: undefined },
})

const savedProvider = (entry: Shape): ProviderDraft => ({
  ...{ kind: KINDS.find((kind) => kind === entry.dialect) ?? 'other', id: textOf(entry.id) },
  ...{ url: textOf(entry.base_url), key: '', isPrivate: entry.allow_private === true, saved: entry },
})

/** An upstream as the configuration has it. A key that is left empty stays. */
function upstreamOf({ kind, id, url, key, isPrivate, saved }: ProviderDraft): Shape {
  const { allow_private: _, ...rest } = saved ?? {}
  return {
    ...(saved !== undefined
      ? rest
      : kind === 'other'
        ? { wire: 'chat' }
        : { wire: PROVIDERS[kind].wire, dialect: kind }),
    ...{ id: id.trim(), base_url: url.trim() },
    ...(key !== '' && { api_key: key.trim() }),
    ...(isPrivate && { allow_private: true }),
  }
}

/** Provider and key, then the models that it has, then their prices. Nothing is saved before the last step. */
export function ProviderDialog({ item, items, onClose }: EntryDialogProps) {
  const { managed } = useMessages()
  const [provider, setProvider] = useState<ProviderDraft>(() =>
    item === undefined ? providerOf('openai') : savedProvider(item.entry ?? {}),
  )
  const [found, setFound] = useState<Found>()
  const [failure, setFailure] = useState<string>()
  const find = useSecretMutation('POST /operate/managed/models', ({ ok, message, models }) => {
    setFailure(ok ? undefined : (message ?? managed.noModels))
    if (ok) setFound(models)
  })
  const save = useManagedChange({ done: managed.providerSaved, onDone: onClose })
  const upstream = upstreamOf(provider)
  const takenText = useTakenText(items)
  const taken = item === undefined ? takenText('upstream', provider.id) : undefined
  return (
    <Dialog
      title={item === undefined ? managed.add : managed.editOf(item.name)}
      open
      onClose={onClose}
      closing="by-button"
      width="wide"
    >
      {found === undefined ? (
        <Form onSend={() => find.mutate({ body: { upstream } })}>
          <ProviderFields provider={provider} taken={taken} onChange={setProvider} />
          {failure !== undefined && (
            <div className="grid justify-items-start gap-2">
              <p role="alert" className="text-sm font-medium text-bad">
                {failure}
              </p>
              <p className="text-sm text-soft">{managed.withoutModelsText}</p>
              <Button onClick={() => save.send({ upstreams: [upstream] })} busy={save.mutation.isPending}>
                {managed.withoutModels}
              </Button>
            </div>
          )}
          <FormEnd
            mutation={save.mutation.error === null ? find : save.mutation}
            go={managed.findModels}
            disabled={taken !== undefined}
            onCancel={onClose}
          />
        </Form>
      ) : (
        <ModelsStep upstream={upstream} id={provider.id.trim()} found={found} {...{ item, items, save, onClose }} />
      )}
    </Dialog>
  )
}

interface ProviderFieldsProps {
  readonly provider: ProviderDraft
  readonly taken: string | undefined
  readonly onChange: (provider: ProviderDraft) => void
}

function ProviderFields({ provider, taken, onChange }: ProviderFieldsProps) {
  const { managed } = useMessages()
  const isNew = provider.saved === undefined
  const options = KINDS.map((value) => ({
    value,
    label: value === 'other' ? managed.otherServer : PROVIDERS[value].name,
  }))
  return (
    <>
      {isNew && (
        <Field label={managed.provider}>
          {(control) => (
            <Select
              {...control}
              value={provider.kind}
              options={options}
              onPick={(kind) => onChange(providerOf(kind))}
            />
          )}
        </Field>
      )}
      <TextField
        label={managed.id}
        hint={managed.idHint}
        error={taken}
        required
        readOnly={!isNew}
        value={provider.id}
        onText={(id) => onChange({ ...provider, id })}
      />
      <TextField
        label={managed.url}
        hint={managed.urlHint}
        required
        type="url"
        value={provider.url}
        onText={(url) => onChange({ ...provider, url })}
      />
      <TextField
        as={PasswordInput}
        label={managed.key}
        hint={isNew ? managed.keyHint : managed.keyKept}
        optional={!isNew || provider.kind === 'other'}
        required={isNew && provider.kind !== 'other'}
        autoComplete="off"
        value={provider.key}
        onText={(key) => onChange({ ...provider, key })}
      />
      {(provider.kind === 'other' || provider.isPrivate) && (
        <Checkbox
          label={managed.isPrivate}
          hint={managed.isPrivateHint}
          checked={provider.isPrivate}
          onChange={(event) => onChange({ ...provider, isPrivate: event.currentTarget.checked })}
        />
      )}
    </>
  )
}

interface ModelsStepProps {
  readonly upstream: Shape
  readonly id: string
  readonly found: Found
  readonly item: Item | undefined
  readonly items: readonly Item[]
  readonly save: ReturnType<typeof useManagedChange>
  readonly onClose: () => void
}

function ModelsStep({ upstream, id, found, item, items, save, onClose }: ModelsStepProps) {
  const { managed } = useMessages()
  const [drafts, setDrafts] = useState<readonly Draft[]>([])
  const [result, setResult] = useState<{ readonly ok: boolean; readonly text: string }>()
  const test = useSecretMutation('POST /operate/managed/test', ({ ok, message, cure, provider_says }) =>
    setResult({ ok, text: [message, provider_says, cure].filter((part) => part !== null).join(' ') }),
  )
  const [first] = drafts
  const models = drafts.map((draft) => entryOf(id, draft, items))
  return (
    <Form onSend={() => save.send({ upstreams: [upstream], models })}>
      <ChosenModels
        found={found}
        drafts={drafts}
        items={items}
        onToggle={(model, isOn) =>
          setDrafts(isOn ? [...drafts, draftOf(model)] : drafts.filter(({ name }) => name !== model.id))
        }
        onChange={(changed) => setDrafts(drafts.map((each) => (each.name === changed.name ? changed : each)))}
      />
      {first !== undefined && (
        <div className="grid justify-items-start gap-2">
          <Button onClick={() => test.mutate({ body: { upstream, model: first.name } })} busy={test.isPending}>
            {managed.test(first.name)}
          </Button>
          {result !== undefined && (
            <p role="status" className={result.ok ? 'text-sm text-good' : 'text-sm font-medium text-bad'}>
              {result.text}
            </p>
          )}
        </div>
      )}
      <FormEnd
        mutation={save.mutation}
        go={managed.save}
        // A saved provider may be changed alone.
        disabled={item === undefined && drafts.length === 0}
        onCancel={onClose}
      />
    </Form>
  )
}
