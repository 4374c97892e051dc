import { Plus } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import { now } from '../../lib/clock.ts'
import { cx } from '../../lib/cx.ts'
import { addDays, dayIn } from '../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { type ModelItem, useModels, usePlan, useWallet } from '../../queries/account.ts'
import { useMay } from '../../queries/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Field, TextField } from '../../ui/Form.tsx'
import { Checkbox, ChoiceField, choicesOf, MoneyInput, Segmented, TextArea, TextInput } from '../../ui/inputs.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { MoneyText, TimeText } from '../../ui/values.tsx'
import { EXPIRY_SPANS, type KeyDraft, LIMITS, NAME_MAX, RUN_CHOICES, type WrongField } from './key-draft.ts'
import type { OwnKey } from './key-facts.tsx'

interface DraftProps {
  readonly draft: KeyDraft
  readonly onChange: (draft: KeyDraft) => void
  readonly wrong: readonly WrongField[]
}

export function NameField({ draft, onChange, wrong }: DraftProps) {
  const { keys } = useMessages()
  return (
    <TextField
      label={keys.name}
      hint={keys.nameHint}
      error={wrong.includes('name') ? keys.nameWrong : undefined}
      data-autofocus
      required
      maxLength={NAME_MAX}
      value={draft.name}
      onText={(name) => onChange({ ...draft, name })}
    />
  )
}

interface TermFieldsProps extends DraftProps {
  readonly kind: OwnKey['kind']
  /** The current expiry of an existing key; null for none and for a new key. */
  readonly expiresAt: string | null
}

export function TermFields({ kind, expiresAt, ...rest }: TermFieldsProps) {
  return (
    <>
      <ModelChoice kind={kind} {...rest} />
      <CapFields {...rest} />
      <ExpiryChoice expiresAt={expiresAt} {...rest} />
      <LimitFields {...rest} />
      <AddressField {...rest} />
      <RunFields {...rest} />
      <StepDownFields kind={kind} {...rest} />
    </>
  )
}

const CAPS = [
  ['day', 'capDay'],
  ['month', 'capMonth'],
] as const

function CapFields({ draft, onChange, wrong }: DraftProps) {
  const { keys } = useMessages()
  return (
    <fieldset className="grid gap-1.5">
      <legend className="mb-1.5 text-sm font-medium">{keys.caps}</legend>
      <div className="grid gap-3 sm:grid-cols-2">
        {CAPS.map(([name, label]) => (
          <TextField
            key={name}
            as={MoneyInput}
            label={keys[label]}
            error={wrong.includes(name) ? keys.capWrong : undefined}
            value={draft[name]}
            onText={(text) => onChange({ ...draft, [name]: text })}
          />
        ))}
      </div>
      <p className="text-xs text-faint">{keys.capsHint}</p>
    </fieldset>
  )
}

/** Collapsed until a limit is set. */
function LimitFields({ draft, onChange, wrong }: DraftProps) {
  const { keys } = useMessages()
  const isUsed = LIMITS.some((name) => draft.limits[name] !== '')
  return (
    <details open={isUsed || undefined} className="group rounded-lg border border-line">
      <summary className="min-h-9 px-3 py-2 text-sm font-medium select-none">{keys.limits}</summary>
      <div className="grid gap-3 px-3 pb-3 sm:grid-cols-3">
        {LIMITS.map((name) => (
          <TextField
            key={name}
            label={keys.limitNames[name]}
            error={wrong.includes(name) ? keys.limitWrong : undefined}
            inputMode="numeric"
            value={draft.limits[name]}
            onText={(text) => onChange({ ...draft, limits: { ...draft.limits, [name]: text } })}
            className="figures"
          />
        ))}
        <p className="text-xs text-faint sm:col-span-3">{keys.limitsHint}</p>
      </div>
    </details>
  )
}

/** Collapsed until there is a list. */
function AddressField({ draft, onChange, wrong }: DraftProps) {
  const { keys } = useMessages()
  return (
    <details open={draft.addresses !== '' || undefined} className="rounded-lg border border-line">
      <summary className="min-h-9 px-3 py-2 text-sm font-medium select-none">{keys.addresses}</summary>
      <div className="px-3 pb-3">
        <Field
          label={keys.addressesAllowed}
          hint={keys.addressesHint}
          error={wrong.includes('addresses') ? keys.addressesWrong : undefined}
        >
          {(control) => (
            <TextArea
              {...control}
              rows={3}
              spellCheck={false}
              className="font-mono"
              value={draft.addresses}
              onChange={({ target }) => onChange({ ...draft, addresses: target.value })}
            />
          )}
        </Field>
      </div>
    </details>
  )
}

/** Collapsed until there is a rule. */
function RunFields({ draft, onChange, wrong }: DraftProps) {
  const { keys } = useMessages()
  return (
    <details open={draft.run !== 'none' || undefined} className="rounded-lg border border-line">
      <summary className="min-h-9 px-3 py-2 text-sm font-medium select-none">{keys.runs}</summary>
      <div className="grid gap-3 px-3 pb-3">
        <ChoiceField
          label={keys.runRule}
          value={draft.run}
          options={choicesOf(RUN_CHOICES, keys.runRules)}
          onPick={(run) => onChange({ ...draft, run })}
        >
          <p className="text-xs text-faint">{keys.runHints[draft.run]}</p>
        </ChoiceField>
        {draft.run === 'each_conversation' && (
          <TextField
            as={MoneyInput}
            label={keys.runMax}
            error={wrong.includes('run') ? keys.runWrong : undefined}
            value={draft.runMax}
            onText={(runMax) => onChange({ ...draft, runMax })}
          />
        )}
      </div>
    </details>
  )
}

/** Collapsed at first if there is no model. */
function StepDownFields({ kind, draft, onChange, wrong }: DraftProps & { kind: OwnKey['kind'] }) {
  const { keys } = useMessages()
  const listId = useId()
  const [isUsed] = useState(draft.stepDown !== '')
  const models = useModels().data?.items.filter((model) => model.kinds.includes(kind)) ?? []
  return (
    <details open={isUsed || undefined} className="rounded-lg border border-line">
      <summary className="min-h-9 px-3 py-2 text-sm font-medium select-none">{keys.stepDown}</summary>
      <div className="grid gap-3 px-3 pb-3 sm:grid-cols-2">
        <TextField
          label={keys.stepDownModel}
          hint={keys.stepDownHint}
          spellCheck={false}
          maxLength={250}
          list={listId}
          value={draft.stepDown}
          onText={(stepDown) => onChange({ ...draft, stepDown })}
        />
        <TextField
          label={keys.stepDownPercent}
          hint={keys.stepDownPercentHint}
          error={wrong.includes('stepDown') ? keys.stepDownWrong : undefined}
          inputMode="numeric"
          value={draft.stepDownBelow}
          onText={(stepDownBelow) => onChange({ ...draft, stepDownBelow })}
          className="figures"
        />
        <datalist id={listId}>
          {models.map(({ id }) => (
            <option key={id} value={id} />
          ))}
        </datalist>
      </div>
    </details>
  )
}

function ExpiryChoice({ expiresAt, draft, onChange, wrong }: DraftProps & { expiresAt: string | null }) {
  const { keys } = useMessages()
  const formats = useFormats()
  const choices = [...(expiresAt === null ? [] : (['keep'] as const)), 'never', ...EXPIRY_SPANS, 'day'] as const
  return (
    <ChoiceField
      label={keys.expiry}
      value={draft.expiry}
      options={choicesOf(choices, keys.expiries)}
      onPick={(expiry) => onChange({ ...draft, expiry })}
    >
      {draft.expiry === 'keep' && expiresAt !== null && (
        <p className="text-xs text-faint">
          <TimeText message={keys.expiresNow} at={expiresAt} />
        </p>
      )}
      {draft.expiry === 'day' && (
        <TextField
          type="date"
          label={keys.expiryDay}
          hint={keys.expiryZone(formats.zone)}
          error={wrong.includes('expiry') ? keys.expiryWrong : undefined}
          min={addDays(dayIn(formats.zone, now()), 1)}
          value={draft.expiryDay}
          onText={(expiryDay) => onChange({ ...draft, expiryDay })}
        />
      )}
    </ChoiceField>
  )
}

type Kind = OwnKey['kind']

/** The kind of a new key. It cannot be changed later. */
export function KindChoice({ kind, onPick }: { kind: Kind; onPick: (kind: Kind) => void }) {
  const { keys } = useMessages()
  const formats = useFormats()
  const seesAccount = useMay()('viewer')
  const { data: wallet } = useWallet({ enabled: seesAccount })
  const { data: plan } = usePlan({ enabled: seesAccount })
  // A member does not see the plan, but its models.
  const opened = useModels().data?.items.filter(({ kinds }) => kinds.includes('builder')).length ?? 0
  const isOpen = seesAccount ? plan?.state === 'active' : opened > 0
  const builder = !seesAccount
    ? opened > 0
      ? formats.plural(opened, keys.drawsBuilderModels)
      : keys.noBuilder.none
    : plan === undefined || plan.plan === null || plan.state !== 'active'
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
              <MoneyText message={keys.drawsWallet} amounts={[wallet.available]} />
            )
          }
          checked={kind === 'wallet'}
          onPick={() => onPick('wallet')}
        />
        <KindCard
          label={keys.kinds.builder}
          text={seesAccount && plan === undefined ? '' : builder}
          checked={kind === 'builder'}
          disabled={!isOpen}
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

/** The models a key may call: all, a list, or patterns that also match later models. */
function ModelChoice({ kind, draft, onChange, wrong }: DraftProps & { kind: OwnKey['kind'] }) {
  const { keys } = useMessages()
  const [before, setBefore] = useState(draft.models ?? [])
  const { models } = draft
  const pick = (choice: 'all' | 'some') => {
    if (choice === 'all') setBefore(models ?? [])
    onChange({ ...draft, models: choice === 'all' ? null : before })
  }
  return (
    <div className="grid gap-1.5">
      <p className="text-sm font-medium">{keys.models}</p>
      <div>
        <Segmented
          label={keys.models}
          value={models === null ? 'all' : 'some'}
          options={[
            { value: 'all', label: keys.everyModel },
            { value: 'some', label: keys.chosenModels },
          ]}
          onPick={pick}
        />
      </div>
      {models !== null && (
        <ModelList kind={kind} chosen={models} onChange={(next) => onChange({ ...draft, models: next })} />
      )}
      {wrong.includes('models') && (
        <p role="alert" className="text-xs font-medium text-bad">
          {keys.chooseOne}
        </p>
      )}
      <p className="text-xs text-faint">{keys.modelsHint}</p>
    </div>
  )
}

interface ModelListProps {
  readonly kind: OwnKey['kind']
  readonly chosen: readonly string[]
  readonly onChange: (chosen: readonly string[]) => void
}

function ModelList({ kind, chosen, onChange }: ModelListProps) {
  const { keys } = useMessages()
  const formats = useFormats()
  const query = useModels()
  const [typed, setTyped] = useState('')
  return (
    <div className="rounded-lg border border-line">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line p-2">
        <TextInput
          type="search"
          aria-label={keys.findModel}
          placeholder={keys.findModel}
          spellCheck={false}
          className="flex-1 basis-56"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          // Enter in the search field must not submit the form.
          onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
        />
        <span aria-live="polite" className="figures shrink-0 pe-1 text-sm text-soft">
          {formats.plural(chosen.length, keys.chosenCount)}
        </span>
      </div>
      <QueryView query={query}>
        {({ items }) => {
          const { rows, pattern } = modelChoices(items, kind, chosen, typed)
          const toggle = (model: string) =>
            onChange(chosen.includes(model) ? chosen.filter((each) => each !== model) : [...chosen, model])
          return (
            <ul className="grid max-h-56 gap-2 overflow-y-auto p-3">
              {pattern !== undefined && (
                <li>
                  <Button
                    onClick={() => {
                      onChange([...chosen, pattern])
                      setTyped('')
                    }}
                  >
                    <Plus aria-hidden="true" />
                    {keys.addPattern(pattern)}
                  </Button>
                </li>
              )}
              {rows.map((model) => (
                <li key={model}>
                  <Checkbox
                    label={<code className="break-all">{model}</code>}
                    checked={chosen.includes(model)}
                    onChange={() => toggle(model)}
                  />
                </li>
              ))}
              {rows.length === 0 && pattern === undefined && <li className="text-faint">{keys.noModelLike}</li>}
            </ul>
          )
        }}
      </QueryView>
    </div>
  )
}

interface ModelChoices {
  /** Chosen entries that are not models come first, then the models. */
  readonly rows: readonly string[]
  /** The typed text is a pattern that is not on the list yet. */
  readonly pattern: string | undefined
}

function modelChoices(
  models: readonly ModelItem[],
  kind: OwnKey['kind'],
  chosen: readonly string[],
  typed: string,
): ModelChoices {
  const ids = models.filter((model) => model.kinds.includes(kind)).map(({ id }) => id)
  const others = chosen.filter((each) => !ids.includes(each))
  const text = typed.trim().toLowerCase()
  const isFound = (id: string) => id.toLowerCase().includes(text.replaceAll('*', ''))
  const isNewPattern = typed.includes('*') && !chosen.includes(typed.trim())
  return {
    rows: [...others, ...ids].filter(isFound),
    pattern: isNewPattern ? typed.trim() : undefined,
  }
}
