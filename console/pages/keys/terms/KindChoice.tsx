import { type ReactNode, useId } from 'react'
import { cx } from '../../../lib/cx.ts'
import { usePlan, useWallet } from '../../../queries/money.ts'
import { MoneyText } from '../../../ui/Money.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { OwnKey } from '../own-key.ts'

type Kind = OwnKey['kind']

/** Which money a key spends, and why there may be only one. It is chosen once: a key keeps its kind. */
export function KindChoice({ kind, onPick }: { kind: Kind; onPick: (kind: Kind) => void }) {
  const { keys } = useMessages()
  const formats = useFormats()
  const { data: wallet } = useWallet()
  const { data: plan } = usePlan()
  const builder =
    plan === undefined || plan.plan === null || plan.state !== 'active'
      ? keys.noBuilder[plan?.state === 'ended' || plan?.state === 'not_configured' ? plan.state : 'none']
      : `${keys.drawsBuilder(plan.plan)} ${formats.plural(plan.models.length, keys.drawsBuilderModels)}`
  return (
    <fieldset className="grid gap-1.5">
      <legend className="mb-1.5 text-sm font-medium">{keys.draws}</legend>
      <div className="grid gap-2 sm:grid-cols-2">
        <KindCard
          label={keys.kinds.wallet}
          text={
            wallet === undefined ? (
              keys.drawsWalletPlain
            ) : (
              <MoneyText say={keys.drawsWallet} amounts={[wallet.available]} />
            )
          }
          checked={kind === 'wallet'}
          onPick={() => onPick('wallet')}
        />
        <KindCard
          label={keys.kinds.builder}
          text={plan === undefined ? '' : builder}
          checked={kind === 'builder'}
          disabled={plan?.state !== 'active'}
          onPick={() => onPick('builder')}
        />
      </div>
    </fieldset>
  )
}

interface KindCardProps {
  readonly label: string
  readonly text: ReactNode
  readonly checked: boolean
  readonly disabled?: boolean
  readonly onPick: () => void
}

function KindCard({ label, text, checked, disabled = false, onPick }: KindCardProps) {
  const id = useId()
  return (
    <label
      className={cx(
        'flex gap-2.5 rounded-lg border border-line p-3 transition-colors has-checked:border-accent has-checked:bg-accent-wash has-focus-visible:outline-2 has-focus-visible:outline-accent',
        disabled ? 'cursor-not-allowed bg-sunken' : 'hover:border-edge',
      )}
    >
      <input
        type="radio"
        name="kind"
        checked={checked}
        disabled={disabled}
        onChange={onPick}
        aria-labelledby={`${id}-label`}
        aria-describedby={`${id}-text`}
        className="mt-0.5 size-4 shrink-0 accent-accent"
      />
      <span className="grid gap-0.5">
        <span id={`${id}-label`} className="font-medium">
          {label}
        </span>
        <span id={`${id}-text`} className="text-sm text-soft">
          {text}
        </span>
      </span>
    </label>
  )
}
