import { Link } from '@tanstack/react-router'
import { Check, X } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { cx } from '../../lib/cx.ts'
import { isZero } from '../../lib/money.ts'
import { exportKey, greetingCommand } from '../../lib/shell-code.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import type { OverviewData } from '../../queries/account.ts'
import { useSessionState } from '../../queries/session.ts'
import { AddFundsLink } from '../../shell/AddFundsLink.tsx'
import { buttonClass, IconButton } from '../../ui/Button.tsx'
import { CodeBlock } from '../../ui/CopyButton.tsx'
import { Panel } from '../../ui/layout.tsx'

/** Shown to an account without requests. It stays until dismissed, so that the user sees all steps checked off. */
export function GettingStarted({ account }: { account: OverviewData }) {
  const { overview } = useMessages()
  const [isNew] = useState(account.recent.length === 0)
  const [away, setAway] = useState(false)
  const [copied, setCopied] = useState(false)
  // A member does not see the money of the account.
  const hasMoney = account.wallet === null || !isZero(account.wallet.available) || account.plan?.state === 'active'
  const [wasPoor] = useState(!hasMoney)
  const messages = overview.steps
  const [first] = account.recent
  if (!isNew || away) return null
  return (
    <Panel
      title={wasPoor ? messages.titleFunds : messages.title}
      about={messages.about}
      actions={first !== undefined && <IconButton icon={X} label={messages.close} onClick={() => setAway(true)} />}
    >
      <ol className="grid grid-cols-1 gap-5 pt-1">
        {wasPoor && (
          <Step title={messages.funds} done={hasMoney}>
            <p className="text-soft">{messages.fundsText}</p>
            {!hasMoney && (
              <div>
                <AddFundsLink tone="primary" />
              </div>
            )}
          </Step>
        )}
        <Step title={messages.key} done={account.keys.total > 0 || first !== undefined}>
          <p className="text-soft">{messages.keyText}</p>
          {account.keys.total === 0 && (
            <div>
              <Link to="/keys" search={{ new: 'yes' }} className={buttonClass(hasMoney ? 'primary' : 'plain')}>
                {messages.keyAction}
              </Link>
            </div>
          )}
        </Step>
        <Step title={messages.curl} done={copied || first !== undefined}>
          <p className="text-soft">{messages.curlText}</p>
          <FirstRequestCode model={account.suggested_model} onCopied={() => setCopied(true)} />
        </Step>
        <Step title={messages.live} done={first !== undefined}>
          <p aria-live="polite" className="flex items-center gap-2 text-soft">
            {first === undefined && (
              <span aria-hidden="true" className="breathe size-2 shrink-0 rounded-full bg-accent" />
            )}
            {first === undefined ? messages.liveWaiting : messages.liveDone}
          </p>
          {first !== undefined && (
            <div>
              <Link to="/requests/$request" params={{ request: first.id }} className={buttonClass('primary')}>
                {messages.liveOpen}
              </Link>
            </div>
          )}
        </Step>
      </ol>
    </Panel>
  )
}

function FirstRequestCode({ model, onCopied }: { model: string | null; onCopied: () => void }) {
  const { steps: messages } = useMessages().overview
  const { base_url } = useSessionState()
  // After the first request the server suggests no model, so the copied one stays.
  const [first] = useState(model ?? 'demo')
  const ask = greetingCommand(base_url, { model: first, stream: true }, messages.greeting)
  const code = `${exportKey('…')}\n${ask}`
  return <CodeBlock code={code} label={messages.shell} onCopied={onCopied} />
}

interface StepProps {
  readonly title: string
  readonly done: boolean
  readonly children: ReactNode
}

function Step({ title, done, children }: StepProps) {
  const { steps: messages } = useMessages().overview
  return (
    <li className="grid grid-cols-[1.75rem_minmax(0,1fr)] gap-x-3 [counter-increment:step]">
      <span
        className={cx(
          'figures grid size-7 place-items-center rounded-full font-semibold',
          done ? 'bg-good-wash text-good' : 'bg-accent-wash text-accent before:content-[counter(step)]',
        )}
      >
        {done && <Check aria-label={messages.done} className="size-4" />}
      </span>
      <div className="grid min-w-0 grid-cols-1 gap-2">
        <h3 className="pt-0.5 font-medium">{title}</h3>
        {children}
      </div>
    </li>
  )
}
