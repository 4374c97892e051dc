import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useSettledRequest } from '../../../queries/requests.ts'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { Money } from '../../../ui/Money.tsx'
import { ProblemNote } from '../../../ui/ProblemNote.tsx'
import { Tokens } from '../../../ui/Tokens.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { TurnFacts } from '../turn/conversation.ts'
import type { Run } from '../turn/run-turn.ts'

/** Words of an ending that need no mention: it simply was the end. */
const USUAL_ENDS = new Set(['stop', 'completed', 'tool_calls'])

/** How long it took, what it used, what it cost, and under which name the server knows it. */
export function AnswerFacts({ facts }: { facts: TurnFacts }) {
  const { playground } = useMessages()
  const formats = useFormats()
  const { usage, finish, requestId, state } = facts
  return (
    <div className="grid gap-1.5 text-xs text-soft">
      <div className="figures flex flex-wrap items-baseline gap-x-4 gap-y-1">
        <dl className="contents">
          {facts.firstMs !== undefined && <Fact name={playground.first}>{formats.duration(facts.firstMs)}</Fact>}
          <Fact name={playground.total}>{formats.duration(facts.totalMs)}</Fact>
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

/** What there is to say about a turn that did not come to its end. */
export function RunNote({ run }: { run: Run }) {
  const { playground } = useMessages()
  const { text, reasoning, calls } = run.answer
  // What was said stands in the conversation, and says there itself what has become of it.
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

/** What an answer that was not heard to its end has cost, as soon as the server knows. */
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
