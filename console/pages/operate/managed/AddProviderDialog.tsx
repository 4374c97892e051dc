import { useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { useSecretMutation } from '../../../queries/mutations.ts'
import { Button } from '../../../ui/Button.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { Field, Form, FormEnd, TextField } from '../../../ui/Form.tsx'
import { Checkbox, PasswordInput, Select } from '../../../ui/inputs.tsx'
import { toast } from '../../../ui/toast.ts'
import { ChosenModels, type Draft, draftOf, entryOf } from './ChosenModels.tsx'

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
}

const providerOf = (kind: Kind): ProviderDraft => ({
  ...{ kind, id: kind === 'other' ? '' : kind, url: kind === 'other' ? '' : PROVIDERS[kind].base_url },
  ...{ key: '', isPrivate: false },
})

/** An upstream as the configuration has it. */
const upstreamOf = ({ kind, id, url, key, isPrivate }: ProviderDraft) => ({
  ...{ id: id.trim(), base_url: url.trim() },
  ...(kind === 'other' ? { wire: 'chat' } : { wire: PROVIDERS[kind].wire, dialect: kind }),
  ...(key !== '' && { api_key: key.trim() }),
  ...(isPrivate && { allow_private: true }),
})

/** Provider and key, then the models that it has, then their prices. Nothing is saved before the last step. */
export function AddProviderDialog({ onClose }: { onClose: () => void }) {
  const { managed } = useMessages()
  const [provider, setProvider] = useState<ProviderDraft>(() => providerOf('openai'))
  const [found, setFound] = useState<Found>()
  const [failure, setFailure] = useState<string>()
  const find = useSecretMutation('POST /operate/managed/models', ({ ok, message, models }) => {
    setFailure(ok ? undefined : (message ?? managed.noModels))
    if (ok) setFound(models)
  })
  const upstream = upstreamOf(provider)
  return (
    <Dialog title={managed.add} open onClose={onClose} closing="by-button" width="wide">
      {found === undefined ? (
        <Form onSend={() => find.mutate({ body: { upstream } })}>
          <ProviderFields provider={provider} onChange={setProvider} />
          {failure !== undefined && (
            <p role="alert" className="text-sm font-medium text-bad">
              {failure}
            </p>
          )}
          <FormEnd mutation={find} go={managed.findModels} onCancel={onClose} />
        </Form>
      ) : (
        <ModelsStep upstream={upstream} found={found} onClose={onClose} />
      )}
    </Dialog>
  )
}

interface ProviderFieldsProps {
  readonly provider: ProviderDraft
  readonly onChange: (provider: ProviderDraft) => void
}

function ProviderFields({ provider, onChange }: ProviderFieldsProps) {
  const { managed } = useMessages()
  const options = KINDS.map((value) => ({
    value,
    label: value === 'other' ? managed.otherServer : PROVIDERS[value].name,
  }))
  return (
    <>
      <Field label={managed.provider}>
        {(control) => (
          <Select {...control} value={provider.kind} options={options} onPick={(kind) => onChange(providerOf(kind))} />
        )}
      </Field>
      <TextField
        label={managed.id}
        hint={managed.idHint}
        required
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
        hint={managed.keyHint}
        optional={provider.kind === 'other'}
        required={provider.kind !== 'other'}
        autoComplete="off"
        value={provider.key}
        onText={(key) => onChange({ ...provider, key })}
      />
      {provider.kind === 'other' && (
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
  readonly upstream: ReturnType<typeof upstreamOf>
  readonly found: Found
  readonly onClose: () => void
}

function ModelsStep({ upstream, found, onClose }: ModelsStepProps) {
  const { managed } = useMessages()
  const [drafts, setDrafts] = useState<readonly Draft[]>([])
  const [result, setResult] = useState<{ readonly ok: boolean; readonly text: string }>()
  const test = useSecretMutation('POST /operate/managed/test', ({ ok, message, cure, provider_says }) =>
    setResult({ ok, text: [message, provider_says, cure].filter((part) => part !== null).join(' ') }),
  )
  const save = useSecretMutation('POST /operate/managed', () => {
    toast({ tone: 'good', text: managed.providerSaved })
    onClose()
  })
  const [first] = drafts
  const models = drafts.map((draft) => entryOf(upstream.id, draft))
  return (
    <Form onSend={() => save.mutate({ body: { upstreams: [upstream], models } })}>
      <ChosenModels
        found={found}
        drafts={drafts}
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
      <FormEnd mutation={save} go={managed.save} disabled={drafts.length === 0} onCancel={onClose} />
    </Form>
  )
}
