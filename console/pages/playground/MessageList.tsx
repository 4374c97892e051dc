import { Link } from '@tanstack/react-router'
import { ChevronRight, Pencil } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useNow } from '../../lib/clock.ts'
import { cx } from '../../lib/cx.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useSettledRequest } from '../../queries/requests.ts'
import { IconButton } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { ProblemNote } from '../../ui/QueryView.tsx'
import { Money, Tokens } from '../../ui/values.tsx'
import { Markdown } from './Markdown.tsx'
import type { Message, ToolCall, TurnFacts, UserMessage } from './turn/conversation.ts'
import type { Run } from './turn/run-turn.ts'

interface MessageListProps {
  readonly history: readonly Message[]
  /**
   * Truncates the conversation before this message of the person, by its number, and puts it into the field. Undefined while
   * answers run.
   */
  readonly onEdit: ((message: UserMessage, number: number) => void) | undefined
}

export function MessageList({ history, onEdit }: MessageListProps) {
  const nameOf = (call: string) =>
    history.flatMap((each) => (each.by === 'model' ? each.calls : [])).find(({ id }) => id === call)?.name ?? call
  const own = history.filter((each) => each.by === 'user')
  return history.map((each) => (
    <MessageView
      key={each.id}
      message={each}
      nameOf={nameOf}
      onEdit={onEdit && ((message) => onEdit(message, own.indexOf(message)))}
    />
  ))
}

interface MessageViewProps {
  readonly message: Message
  readonly nameOf: (call: string) => string
  readonly onEdit: ((message: UserMessage) => void) | undefined
}

function MessageView({ message, nameOf, onEdit }: MessageViewProps) {
  const { playground } = useMessages()
  switch (message.by) {
    case 'user': {
      const edit = onEdit !== undefined && (
        <IconButton icon={Pencil} label={playground.edit} onClick={() => onEdit(message)} className="-my-1" />
      )
      return (
        <MessageCard who={playground.you} look="user" action={edit}>
          {message.images !== undefined && <SentImages images={message.images} />}
          <PlainText text={message.text} />
        </MessageCard>
      )
    }
    case 'tool':
      return (
        <MessageCard who={playground.resultOf(nameOf(message.call))} look="tool">
          <pre className="overflow-x-auto text-sm whitespace-pre-wrap">{message.text}</pre>
        </MessageCard>
      )
    case 'model':
      return (
        <MessageCard
          who={message.facts.model}
          look="model"
          action={
            message.text !== '' && (
              <span className="-my-1">
                <CopyButton text={message.text} label={playground.copyAnswer} />
              </span>
            )
          }
        >
          {message.reasoning !== '' && <ReasoningFold text={message.reasoning} ms={message.facts.reasoningMs} />}
          <Markdown text={message.text} />
          {message.calls.map((call) => (
            <CallShown key={call.id} call={call} />
          ))}
          <AnswerFacts facts={message.facts} />
        </MessageCard>
      )
  }
}

function SentImages({ images }: { images: readonly string[] }) {
  const { playground } = useMessages()
  const formats = useFormats()
  return (
    <div className="flex flex-wrap gap-2">
      {images.map((url, index) => (
        <img
          key={url}
          src={url}
          alt={playground.image(formats.count(index + 1))}
          className="max-h-48 max-w-full rounded-md border border-line"
        />
      ))}
    </div>
  )
}

const LOOKS = {
  user: 'bg-accent-wash',
  model: '',
  tool: 'bg-sunken',
}

interface MessageProps {
  readonly who: string
  readonly look: keyof typeof LOOKS
  readonly action?: ReactNode
  readonly children: ReactNode
}

const MessageCard = ({ who, look, action, children }: MessageProps) => (
  <article className={`grid min-w-0 gap-2 rounded-lg px-4 py-3 ${LOOKS[look]}`}>
    <header className="flex items-center justify-between gap-2">
      <h2 className="eyebrow min-w-0 break-words">{who}</h2>
      {action}
    </header>
    {children}
  </article>
)

const PlainText = ({ text }: { text: string }) =>
  text === '' ? null : <p className="leading-relaxed break-words whitespace-pre-wrap">{text}</p>

/** How often a running time changes. */
const TICK_MS = 100

/** The answer while it streams. Screen readers hear it when it is complete. */
export function RunningAnswer({ run }: { run: Run }) {
  const { playground } = useMessages()
  const formats = useFormats()
  const time = useNow(TICK_MS)
  const { text, reasoning, calls } = run.answer
  const elapsed = formats.duration(Math.max(0, time - run.startedAt))
  const reasons = run.reasoningFrom !== undefined && run.reasoningMs === undefined
  return (
    <div aria-busy="true">
      <MessageCard who={run.model} look="model">
        {reasoning !== '' && run.reasoningFrom !== undefined && (
          <ReasoningFold
            text={reasoning}
            ms={run.reasoningMs ?? Math.max(0, time - run.reasoningFrom)}
            isRunning={reasons}
          />
        )}
        <Markdown text={text} />
        {calls.map((call) => (
          <CallShown key={call.id} call={call} />
        ))}
        <p className="figures flex items-center gap-2 text-xs text-faint">
          <span aria-hidden="true" className="breathe size-2 rounded-full bg-accent" />
          {run.firstMs === undefined
            ? `${playground.waiting} · ${elapsed}`
            : `${reasons ? playground.reasons : playground.writing} · ${elapsed} · ${playground.first} ${formats.duration(run.firstMs)}`}
        </p>
      </MessageCard>
    </div>
  )
}

function CallShown({ call }: { call: ToolCall }) {
  const { playground } = useMessages()
  return (
    <figure className="rounded-md border border-line bg-sunken">
      <figcaption className="border-b border-line px-3 py-1 text-sm font-medium break-words">
        {playground.callOf(call.name)}
      </figcaption>
      {call.arguments !== '' && (
        <pre className="overflow-x-auto px-3 py-2 text-sm whitespace-pre-wrap">{indented(call.arguments)}</pre>
      )}
    </figure>
  )
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

interface ReasoningFoldProps {
  readonly text: string
  readonly ms: number | undefined
  readonly isRunning?: boolean
}

/** Open while the model reasons, unless the person has closed it. */
function ReasoningFold({ text, ms, isRunning = false }: ReasoningFoldProps) {
  const { playground } = useMessages()
  const formats = useFormats()
  const [picked, setPicked] = useState<boolean>()
  const time = ms === undefined ? undefined : formats.duration(ms)
  const isOpen = picked ?? isRunning
  return (
    <div className="rounded-md border border-line">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setPicked(!isOpen)}
        className="figures flex min-h-8 w-full items-center gap-1.5 px-3 py-1.5 text-start text-sm text-soft hover:text-ink"
      >
        <ChevronRight aria-hidden="true" className={cx('size-4 transition-transform', isOpen && 'rotate-90')} />
        {time === undefined
          ? playground.reasoning
          : isRunning
            ? playground.reasoningNow(time)
            : playground.reasoningTook(time)}
      </button>
      {isOpen && (
        <div className="border-t border-line px-3 py-2 text-sm text-soft">
          <Markdown text={text} />
        </div>
      )}
    </div>
  )
}

/** Normal finish reasons that need no mention. */
const USUAL_ENDS = new Set(['stop', 'completed', 'tool_calls'])

/** A rate of less time or fewer tokens says nothing. */
const RATED_MS_MIN = 100
const RATED_TOKENS_MIN = 16

function rateOf({ usage, firstMs, totalMs }: TurnFacts): number | undefined {
  const ms = totalMs - (firstMs ?? totalMs)
  if (usage === undefined || usage.output < RATED_TOKENS_MIN || ms < RATED_MS_MIN) return undefined
  return Math.round((usage.output * 1000) / ms)
}

function AnswerFacts({ facts }: { facts: TurnFacts }) {
  const { playground } = useMessages()
  const formats = useFormats()
  const { usage, finish, requestId, state } = facts
  const rate = rateOf(facts)
  return (
    <div className="grid gap-1.5 text-xs text-soft">
      <div className="figures flex flex-wrap items-baseline gap-x-4 gap-y-1">
        <dl className="contents">
          {facts.firstMs !== undefined && <Fact name={playground.first}>{formats.duration(facts.firstMs)}</Fact>}
          <Fact name={playground.total}>{formats.duration(facts.totalMs)}</Fact>
          {rate !== undefined && <Fact name={playground.rate}>{playground.perSecond(formats.count(rate))}</Fact>}
          {usage !== undefined && (
            <>
              <Fact name={playground.input}>
                <Tokens count={usage.input} />
                {usage.cached > 0 && ` (${playground.cached(formats.short(usage.cached))})`}
              </Fact>
              <Fact name={playground.output}>
                <Tokens count={usage.output} />
                {usage.reasoning > 0 && ` (${playground.reasoned(formats.short(usage.reasoning))})`}
              </Fact>
            </>
          )}
          {usage?.charge != null && (
            <Fact name={playground.cost}>
              <span className="font-semibold text-ink">
                <Money amount={usage.charge} />
              </span>
              {usage.estimated && ` (${playground.estimated})`}
            </Fact>
          )}
        </dl>
        {finish !== undefined && !USUAL_ENDS.has(finish) && (
          <span className="text-held">{playground.ended(finish)}</span>
        )}
        {requestId !== null && <RequestName id={requestId} />}
      </div>
      {state !== 'done' && requestId !== null && <SettledCharge request={requestId} state={state} />}
    </div>
  )
}

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="flex gap-1.5">
    <dt className="text-faint">{name}</dt>
    <dd>{children}</dd>
  </div>
)

function RequestName({ id }: { id: string }) {
  const { playground } = useMessages()
  return (
    <span className="inline-flex min-w-0 items-center">
      <Link
        to="/requests/$request"
        params={{ request: id }}
        className="min-w-0 font-mono break-all text-accent hover:underline"
      >
        {id}
      </Link>
      <span className="-my-2">
        <CopyButton text={id} label={playground.copyRequestId} />
      </span>
    </span>
  )
}

export function RunNote({ run }: { run: Run }) {
  const { playground } = useMessages()
  const { text, reasoning, calls } = run.answer
  // A stopped answer with content shows its own note in the conversation.
  const silent = text === '' && reasoning === '' && calls.length === 0
  if (run.state === 'failed') {
    return (
      <div className="grid gap-1.5">
        <ProblemNote error={run.problem} />
        {run.requestId !== null && run.requestId !== '' && run.problem?.status === 0 && (
          <RequestName id={run.requestId} />
        )}
      </div>
    )
  }
  if (run.state !== 'stopped' || !silent) return null
  if (run.requestId !== null) return <SettledCharge request={run.requestId} state="stopped" />
  return (
    <p role="status" className="rounded-md bg-sunken px-3 py-2 text-soft">
      {playground.stoppedFree}
    </p>
  )
}

/** The charge of an incomplete answer, once it is settled. */
function SettledCharge({ request, state }: { request: string; state: 'stopped' | 'failed' }) {
  const { playground } = useMessages()
  const query = useSettledRequest(request)
  const charge = query.settled ? query.data?.charge : undefined
  const waiting = query.error === null && !query.settled
  return (
    <p role="status" className="rounded-md bg-held-wash px-2.5 py-1.5 text-held">
      {state === 'stopped' ? playground.stoppedCharged : playground.brokenCharged}{' '}
      {charge != null && (
        <span className="font-semibold">
          {playground.charged} <Money amount={charge} />
        </span>
      )}
      {waiting && playground.chargePending}
      {query.error !== null && playground.chargeUnknown}
    </p>
  )
}
