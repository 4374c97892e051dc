import { Link, useParams } from '@tanstack/react-router'
import { ChartColumn, KeyRound, RefreshCw, SquarePen } from 'lucide-react'
import { type ReactNode, Suspense, useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { ConsoleProblem } from '../../lib/console-problem.ts'
import { lazyPart } from '../../lib/lazy-part.ts'
import { sumMoney } from '../../lib/money.ts'
import { stepLabels } from '../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useAudit, useKey, useKeyUsage } from '../../queries/account.ts'
import { useKeyRequests } from '../../queries/requests.ts'
import { useMay } from '../../queries/session.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { paidChart } from '../../ui/charts/chart-data.ts'
import { StackedBars } from '../../ui/charts/StackedBars.tsx'
import { Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Money, Time, TimeText } from '../../ui/values.tsx'
import { CapBars } from '../caps/CapBars.tsx'
import { LatestRequests } from '../requests/RequestTable.tsx'
import { KeyCapButtons, OwnerFacts } from './KeyCapButtons.tsx'
import { KeyDialogs, KeyMenu } from './KeyDialogs.tsx'
import { KeySecretDialog, useKeySecret } from './KeySecretDialog.tsx'
import { LIMITS } from './key-draft.ts'
import { KeyBadges, KeyStateBadge, type OwnKey, type PickedAction } from './key-facts.tsx'

export function KeyPage() {
  const { shell } = useMessages()
  const { key = '' } = useParams({ strict: false })
  const query = useKey(key)
  if (query.error instanceof ConsoleProblem && query.error.code === 'key_not_found') return <KeyNotFound />
  if (query.data !== undefined) return <KnownKey keyItem={query.data} />
  return (
    <Page>
      <PageHeader title={shell.pageTitles.keys} />
      <Panel padding="flush">
        <QueryView query={query} lines={8}>
          {() => null}
        </QueryView>
      </Panel>
    </Page>
  )
}

function KnownKey({ keyItem }: { keyItem: OwnKey }) {
  const { keys, caps } = useMessages()
  const may = useMay()
  const [picked, setPicked] = useState<PickedAction | undefined>()
  const { made, show, drop } = useKeySecret()
  const isOver = keyItem.state === 'revoked'
  return (
    <Page>
      <PageHeader
        title={keyItem.name}
        about={<KeyStatus keyItem={keyItem} />}
        actions={may('member') && <KeyButtons keyItem={keyItem} onAction={setPicked} />}
      />
      {!(isOver && keyItem.caps.length + keyItem.shared.length === 0) && (
        <Panel title={caps.title} actions={!isOver && <KeyCapButtons keyItem={keyItem} />}>
          <CapBars caps={[...keyItem.caps, ...keyItem.shared]} as="long" none={keys.capsEmpty} withHolders />
        </Panel>
      )}
      <KeyUsage keyId={keyItem.id} isOver={isOver} />
      <KeyTerms keyItem={keyItem} />
      <KeyRequests keyId={keyItem.id} isOver={isOver} />
      {may('viewer') && <KeyAuditLog keyId={keyItem.id} />}
      <KeyDialogs
        picked={picked}
        onClose={() => setPicked(undefined)}
        onRotated={(next) => {
          show(next)
          setPicked(undefined)
        }}
      />
      {made !== undefined && <KeySecretDialog made={made} onStored={drop} />}
    </Page>
  )
}

function KeyStatus({ keyItem }: { keyItem: OwnKey }) {
  const { keys } = useMessages()
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1 pt-1">
      <KeyStateBadge state={keyItem.state} />
      <KeyBadges keyItem={keyItem} />
      {keyItem.playground ? (
        <span className="text-sm">{keys.playgroundHint}</span>
      ) : (
        <code className="text-sm">{keyItem.shown}</code>
      )}
    </span>
  )
}

function KeyButtons({ keyItem, onAction }: { keyItem: OwnKey; onAction: (picked: PickedAction) => void }) {
  const { keys } = useMessages()
  if (keyItem.state === 'revoked') return null
  return (
    <>
      <Button onClick={() => onAction({ action: 'edit', key: keyItem })}>
        <SquarePen aria-hidden="true" />
        {keys.edit}
      </Button>
      {!keyItem.playground && (
        <Button onClick={() => onAction({ action: 'rotate', key: keyItem })}>
          <RefreshCw aria-hidden="true" />
          {keys.rotate}
        </Button>
      )}
      <KeyMenu keyItem={keyItem} onAction={onAction} />
    </>
  )
}

function KeyNotFound() {
  const { shell, keys } = useMessages()
  const back = (
    <Link to="/keys" className={buttonClass('primary')}>
      {keys.toKeys}
    </Link>
  )
  return (
    <Page>
      <PageHeader title={shell.pageTitles.keys} />
      <Panel>
        <Empty icon={KeyRound} title={keys.missing} text={keys.missingText} action={back} />
      </Panel>
    </Page>
  )
}

const SHOWN = 10

interface KeyRequestsProps {
  readonly keyId: string
  /** The key is revoked, so no request will arrive. */
  readonly isOver: boolean
}

function KeyRequests({ keyId, isOver }: KeyRequestsProps) {
  const { keys } = useMessages()
  const may = useMay()
  const query = useKeyRequests(keyId, SHOWN)
  const all = (
    <Link to="/requests" search={{ key: keyId }} className={buttonClass('quiet')}>
      {keys.allRequests}
    </Link>
  )
  const connect = (
    <Link to="/connect" className={buttonClass('plain')}>
      {keys.connect}
    </Link>
  )
  return (
    <Panel title={keys.recent} actions={all} padding="flush">
      <QueryView query={query} lines={5}>
        {({ items }) => (
          <LatestRequests
            caption={keys.recent}
            requests={items}
            without={['key']}
            none={{
              title: keys.noRequests,
              ...(!isOver && { text: keys.noRequestsText, action: may('member') && connect }),
            }}
          />
        )}
      </QueryView>
    </Panel>
  )
}

/** The last panel of the page is loaded after the others. */
const AuditPanel = lazyPart(async () => (await import('../audit/AuditPanel.tsx')).AuditPanel)

function KeyAuditLog({ keyId }: { keyId: string }) {
  const { keys } = useMessages()
  const query = useAudit(keyId)
  return (
    <Suspense fallback={null}>
      <AuditPanel title={keys.auditLog} query={query} of="one" />
    </Suspense>
  )
}

type Budget = Exclude<NonNullable<OwnKey['run']>, 'required'>['each_conversation']

function ConversationBounds({ budget: { max, max_requests, max_tokens, ends } }: { budget: Budget }) {
  const { keys } = useMessages()
  const formats = useFormats()
  const bounds = [
    ...(max === undefined ? [] : [formats.money(max)]),
    ...(max_requests === undefined ? [] : [keys.runRequests(formats.count(max_requests))]),
    ...(max_tokens === undefined ? [] : [keys.runTokens(formats.count(max_tokens))]),
    ...(ends === undefined ? [] : [ends]),
  ]
  return <>{`${keys.runRules.each_conversation}: ${bounds.join(', ')}`}</>
}

function KeyTerms({ keyItem }: { keyItem: OwnKey }) {
  const { keys } = useMessages()
  const formats = useFormats()
  const { id, models, limits, addresses, run, step_down, created_at, expires_at, last_used_at, former } = keyItem
  return (
    <Panel title={keys.terms}>
      <dl className="grid gap-x-8 gap-y-3 sm:grid-cols-2 lg:grid-cols-3">
        <Term name={keys.id}>
          <span className="flex items-center gap-1">
            <code className="break-all">{id}</code>
            <CopyButton text={id} label={keys.copyId} />
          </span>
        </Term>
        <OwnerFacts keyItem={keyItem} as={Term} />
        <Term name={keys.created}>
          <Time at={created_at} as="time" />
        </Term>
        <Term name={keys.lastUsed}>{last_used_at === null ? keys.neverUsed : <Time at={last_used_at} />}</Term>
        <Term name={keys.expires}>{expires_at === null ? keys.never : <Time at={expires_at} as="time" />}</Term>
        {LIMITS.map((name) => (
          <Term key={name} name={keys.limitNames[name]}>
            {limits[name] === null ? keys.noLimit : <span className="figures">{formats.count(limits[name])}</span>}
          </Term>
        ))}
        <Term name={keys.addresses}>
          {addresses === null ? keys.anyAddress : <code className="break-all">{addresses.join(' ')}</code>}
        </Term>
        {run !== null && (
          <Term name={keys.runs}>
            {run === 'required' ? keys.runRules.required : <ConversationBounds budget={run.each_conversation} />}
          </Term>
        )}
        {step_down !== null && (
          <Term name={keys.stepDown}>
            <code className="break-all">{step_down.to}</code>
            {step_down.below_percent > 0 && ` ${keys.stepDownBelow(String(step_down.below_percent))}`}
          </Term>
        )}
        {former !== null && (
          <Term name={keys.shown}>
            <span className="text-held">
              <TimeText message={(until) => keys.formerUntil(former.shown, until)} at={former.until} />
            </span>
          </Term>
        )}
        <div className="sm:col-span-full">
          <dt className="text-sm text-faint">{keys.models}</dt>
          <dd className="pt-1">{models === null ? keys.everyModel : <ModelTags models={models} />}</dd>
        </div>
      </dl>
    </Panel>
  )
}

const Term = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="grid content-start gap-0.5">
    <dt className="text-sm text-faint">{name}</dt>
    <dd className="min-w-0">{children}</dd>
  </div>
)

const ModelTags = ({ models }: { models: readonly string[] }) => (
  <ul className="flex max-h-56 flex-wrap gap-1.5 overflow-y-auto">
    {models.map((model) => (
      <li key={model} className="rounded-md bg-sunken px-2 py-0.5">
        <code className="break-all">{model}</code>
      </li>
    ))}
  </ul>
)

interface KeyUsageProps {
  readonly keyId: string
  /** The key is revoked, so no usage will arrive. */
  readonly isOver: boolean
}

function KeyUsage({ keyId, isOver }: KeyUsageProps) {
  const { keys } = useMessages()
  const formats = useFormats()
  const query = useKeyUsage(keyId, formats.zone)
  const total = query.data?.total
  const sum = total !== undefined && total.requests > 0 && (
    <p className="figures text-sm text-soft">
      <Money amount={paidFor(total)} /> · {formats.plural(total.requests, keys.requestCount)}
    </p>
  )
  return (
    <Panel title={keys.usage} about={keys.usageAbout} actions={sum}>
      <QueryView query={query} lines={6}>
        {(usage) =>
          usage.total.requests === 0 ? (
            <Empty icon={ChartColumn} title={keys.noUsage} {...(!isOver && { text: keys.noUsageText })} />
          ) : (
            <DailyCost usage={usage} />
          )
        }
      </QueryView>
    </Panel>
  )
}

type Usage = AnswerOf<'GET /usage'>

/** Only one of the two is above zero, because a key keeps its kind. */
const paidFor = ({ wallet, plan }: Pick<Usage['total'], 'wallet' | 'plan'>): string => sumMoney(wallet, plan)

function DailyCost({ usage }: { usage: Usage }) {
  const { keys } = useMessages()
  const formats = useFormats()
  const series = usage.series.map(({ id, name, steps }) => ({
    id: id ?? 'rest',
    name: id === null ? keys.otherModels : name,
    amounts: steps.map(paidFor),
  }))
  const drawn = { caption: `${keys.usage}. ${keys.usageAbout}`, steps: stepLabels(usage.steps, 'day', formats) }
  return <StackedBars data={paidChart({ ...drawn, series }, formats)} />
}
