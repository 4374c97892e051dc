import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { BookOpen, Boxes } from 'lucide-react'
import { useState } from 'react'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useModels } from '../../queries/account.ts'
import { useSession } from '../../queries/session.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { CodeBlock, CopyButton } from '../../ui/CopyButton.tsx'
import { Field } from '../../ui/Form.tsx'
import { choicesOf, PasswordInput, Segmented, Select } from '../../ui/inputs.tsx'
import { Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Tabs } from '../../ui/Tabs.tsx'
import { CLIENT_SNIPPETS, type ClientId, isKey, keyOf, type Snippet, type Target } from './client-snippets.ts'

/** The selection is part of the address so that it can be shared. */
interface Wanted {
  readonly client?: string
  readonly model?: string
  readonly key?: string
}

const CLIENTS: readonly ClientId[] = ['curl', 'python', 'node', 'aiSdk', 'codex', 'opencode', 'agents']

export function ConnectPage() {
  const { common, shell, connect } = useMessages()
  const { session } = useSession()
  const models = useModels()
  const wanted = useSearch({ strict: false }) as Wanted
  const navigate = useNavigate()
  const want = (change: Wanted) => void navigate({ to: '/connect', search: { ...wanted, ...change }, replace: true })
  // Only in memory: neither the address nor the browser keeps it, and nothing sends it.
  const [typed, setTyped] = useState('')
  const kind = wanted.key === 'builder' ? 'builder' : 'wallet'
  const client = CLIENTS.find((id) => id === wanted.client) ?? 'curl'
  const callable = models.data?.items.filter(({ kinds }) => kinds.includes(kind)) ?? []
  const details =
    callable.find(({ id, variants }) => id === wanted.model || variants.includes(wanted.model ?? '')) ??
    callable.find(({ available }) => available) ??
    callable[0]
  const hasWanted = details?.id === wanted.model || details?.variants.includes(wanted.model ?? '')
  const target: Target | undefined = details && {
    baseUrl: session.base_url,
    model: hasWanted && wanted.model !== undefined ? wanted.model : details.id,
    details,
    kind,
    key: isKey(typed.trim()) ? typed.trim() : '',
  }
  return (
    <Page>
      <PageHeader
        title={shell.pageTitles.connect}
        about={connect.about}
        actions={
          <Link to="/reference" className={buttonClass()}>
            <BookOpen aria-hidden="true" />
            {shell.pageTitles.reference}
          </Link>
        }
      />
      <Panel>
        <TargetFields
          baseUrl={session.base_url}
          models={callable}
          model={target?.model ?? ''}
          kind={kind}
          onModel={(model) => want({ model })}
          onKind={(key) => want({ key })}
          ownKey={typed}
          onOwnKey={(text) => {
            setTyped(text)
            const [, named] = /^mr_(wallet|builder)_/.exec(text.trim()) ?? []
            if (named !== undefined && named !== kind && isKey(text.trim())) want({ key: named })
          }}
        />
      </Panel>
      <Panel>
        <QueryView query={models} lines={8}>
          {() =>
            target === undefined ? (
              <Empty
                icon={Boxes}
                title={connect.noModels}
                text={connect.noModelsText}
                action={<Button onClick={() => void models.refetch()}>{common.retry}</Button>}
              />
            ) : (
              <Tabs
                label={connect.clients}
                value={client}
                onPick={(picked) => want({ client: picked })}
                tabs={CLIENTS.map((id) => ({
                  value: id,
                  label: connect.names[id],
                  content: <ClientPanel client={id} target={target} snippets={CLIENT_SNIPPETS[id](target)} />,
                }))}
              />
            )
          }
        </QueryView>
      </Panel>
    </Page>
  )
}

interface TargetFieldsProps {
  readonly baseUrl: string
  readonly models: readonly Target['details'][]
  readonly model: string
  readonly kind: Target['kind']
  readonly onModel: (model: string) => void
  readonly onKind: (kind: Target['kind']) => void
  readonly ownKey: string
  readonly onOwnKey: (key: string) => void
}

const KINDS = ['wallet', 'builder'] as const

function TargetFields({ baseUrl, models, model, kind, onModel, onKind, ownKey, onOwnKey }: TargetFieldsProps) {
  const { connect } = useMessages()
  const ids = models.flatMap(({ id, variants }) => [id, ...variants])
  return (
    <div className="grid grid-cols-1 items-start gap-x-6 gap-y-4 md:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_auto]">
      <div className="grid min-w-0 gap-1">
        <span className="text-sm font-medium">{connect.baseUrl}</span>
        <span className="flex min-h-9 items-center gap-1 rounded-md bg-sunken ps-2.5">
          <code className="min-w-0 flex-1 break-all">{baseUrl}</code>
          <CopyButton text={baseUrl} label={connect.copyBaseUrl} />
        </span>
      </div>
      <Field label={connect.model}>
        {(control) => (
          <Select
            {...control}
            disabled={ids.length === 0}
            value={model}
            options={ids.map((id) => ({ value: id, label: id }))}
            onPick={onModel}
          />
        )}
      </Field>
      <div className="grid gap-1">
        <span aria-hidden="true" className="text-sm font-medium">
          {connect.key}
        </span>
        <Segmented label={connect.key} value={kind} options={choicesOf(KINDS, connect.kinds)} onPick={onKind} />
        <p className="text-xs text-faint">
          {connect.noKey}{' '}
          <Link to="/keys" className="text-accent underline">
            {connect.makeKey}
          </Link>
        </p>
      </div>
      <div className="md:col-span-3 md:max-w-xl">
        <Field
          label={connect.ownKey}
          optional
          hint={connect.ownKeyHint}
          error={ownKey.trim() === '' || isKey(ownKey.trim()) ? undefined : connect.ownKeyWrong}
        >
          {(control) => (
            <PasswordInput {...control} value={ownKey} onChange={(event) => onOwnKey(event.target.value)} />
          )}
        </Field>
      </div>
    </div>
  )
}

interface ClientPanelProps {
  readonly client: ClientId
  readonly target: Target
  readonly snippets: readonly Snippet[]
}

function ClientPanel({ client, target, snippets }: ClientPanelProps) {
  const { connect } = useMessages()
  return (
    <div className="grid grid-cols-1 items-start gap-x-8 gap-y-5 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <div className="grid grid-cols-1 gap-3">
        {client === 'agents' && <AgentSettings target={target} />}
        {snippets.map(({ label, code }) => (
          <CodeBlock key={code} label={'file' in label ? label.file : connect.labels[label.message]} code={code} />
        ))}
      </div>
      <section className="grid gap-2">
        <h2 className="font-semibold">{connect.watch}</h2>
        <ul className="grid list-disc gap-2 ps-5 text-soft marker:text-faint">
          {connect.notes[client].map((note) => (
            <li key={note} className="break-words">
              {note}
            </li>
          ))}
        </ul>
        <p className="text-sm text-faint">{connect.tried[client]}</p>
      </section>
    </div>
  )
}

/** Generic settings for clients that are not listed. */
function AgentSettings({ target }: { target: Target }) {
  const { settings } = useMessages().connect
  const formats = useFormats()
  const effort = useEffortText(target)
  const { baseUrl, model, details } = target
  const rows = [
    { name: settings.baseUrl, value: baseUrl, copy: baseUrl },
    { name: settings.key, value: keyOf(target), copy: undefined },
    { name: settings.model, value: model, copy: model },
    { name: settings.context, value: formats.count(details.context_tokens), copy: `${details.context_tokens}` },
    { name: settings.output, value: formats.count(details.max_output_tokens), copy: `${details.max_output_tokens}` },
    { name: settings.effort, value: effort, copy: undefined },
    { name: settings.streaming, value: settings.on, copy: undefined },
  ]
  return (
    <dl className="divide-y divide-line rounded-lg border border-line">
      {rows.map(({ name, value, copy }) => (
        <div key={name} className="grid min-h-9 items-center gap-x-4 px-3 py-1 sm:grid-cols-[12rem_minmax(0,1fr)]">
          <dt className="text-sm text-faint">{name}</dt>
          <dd className="flex min-h-8 items-center justify-between gap-2">
            <span className="figures min-w-0 break-all">{value}</span>
            {copy !== undefined && <CopyButton text={copy} />}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function useEffortText({ model, details }: Target): string {
  const { settings } = useMessages().connect
  const formats = useFormats()
  if (details.variants.includes(model) || details.efforts?.length === 0) return settings.effortOff
  return details.efforts === null ? settings.effortAny : settings.effortOne(formats.list(details.efforts))
}
