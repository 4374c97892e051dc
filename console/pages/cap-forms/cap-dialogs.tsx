import { useState } from 'react'
import type { BodyOf } from '../../../src/contract/console-api.ts'
import { isQuota } from '../../lib/cap-kinds.ts'
import type { ConsoleProblem } from '../../lib/console-problem.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { Field, Form, FormEnd, TextField } from '../../ui/Form.tsx'
import { ChoiceField, choicesOf, MoneyInput, Select, TextInput } from '../../ui/inputs.tsx'
import {
  CAP_FIELDS,
  type CapDraft,
  type CapField,
  type CapStatus,
  type CapsBody,
  capsOfStatuses,
  draftOfCaps,
  readCapAmount,
  readCapDraft,
  type SetCaps,
} from './cap-draft.ts'

interface CapFieldsProps {
  readonly draft: CapDraft
  readonly wrong: readonly CapField[]
  readonly onChange: (draft: CapDraft) => void
}

/** All caps that there are. An empty field is no cap. */
export function CapFields({ draft, wrong, onChange }: CapFieldsProps) {
  const { caps } = useMessages()
  return (
    <fieldset className="grid gap-1.5">
      <legend className="mb-1.5 text-sm font-medium">{caps.title}</legend>
      <div className="grid gap-3 sm:grid-cols-2">
        {CAP_FIELDS.map((name) => (
          <TextField
            key={name}
            as={isQuota(name) ? TextInput : MoneyInput}
            label={caps.names[name]}
            error={wrong.includes(name) ? (isQuota(name) ? caps.wrongCount : caps.wrongMoney) : undefined}
            inputMode={isQuota(name) ? 'numeric' : 'decimal'}
            value={draft[name]}
            onText={(text) => onChange({ ...draft, [name]: text })}
            className="figures"
          />
        ))}
      </div>
      <p className="text-xs text-faint">{caps.hint}</p>
    </fieldset>
  )
}

interface Sending {
  readonly error: ConsoleProblem | null
  readonly isPending: boolean
}

interface EditCapsProps {
  readonly title: string
  readonly text?: string
  readonly caps: SetCaps
  readonly mutation: Sending
  readonly onSend: (body: CapsBody) => void
  readonly onClose: () => void
}

export function EditCapsDialog({ title, text, caps: before, mutation, onSend, onClose }: EditCapsProps) {
  const { common } = useMessages()
  // What was there when the form was opened: a refetch must not change what is typed.
  const [caps] = useState(before)
  const [draft, setDraft] = useState(() => draftOfCaps(caps))
  const [wrong, setWrong] = useState<readonly CapField[]>([])
  const send = () => {
    const read = readCapDraft(caps, draft)
    setWrong(read.wrong)
    if (read.wrong.length > 0) return
    if (Object.keys(read.body).length === 0) onClose()
    else onSend(read.body)
  }
  return (
    <Dialog title={title} open onClose={onClose} width="wide">
      <Form className="grid gap-5" onSend={send} validatedBy="send">
        {text !== undefined && <p className="text-soft">{text}</p>}
        <CapFields draft={draft} wrong={wrong} onChange={setDraft} />
        <FormEnd mutation={mutation} go={common.save} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

/** Where only the state of the caps is known. */
export const EditSpentCapsDialog = ({
  spent,
  ...rest
}: Omit<EditCapsProps, 'caps'> & { readonly spent: readonly CapStatus[] }) => (
  <EditCapsDialog caps={capsOfStatuses(spent)} {...rest} />
)

type Raise = BodyOf<'POST /teams/:team/raise'>
const SPANS = ['1h', '12h', '1d', '7d', '30d'] as const

interface RaiseDialogProps {
  readonly title: string
  readonly spent: readonly CapStatus[]
  readonly mutation: Sending
  readonly onSend: (body: Raise) => void
  readonly onClose: () => void
}

/** A higher cap for a while. Only caps that are set can be raised. */
export function RaiseDialog({ title, spent, mutation, onSend, onClose }: RaiseDialogProps) {
  const { caps } = useMessages()
  const names = CAP_FIELDS.filter((name) => spent.some((cap) => cap.name === name))
  const [cap, setCap] = useState<CapField>(names[0] ?? 'day')
  const [typed, setTyped] = useState('')
  const [until, setUntil] = useState<(typeof SPANS)[number]>('1d')
  const [isWrong, setIsWrong] = useState(false)
  const send = () => {
    const to = readCapAmount(cap, typed)
    setIsWrong(to === undefined)
    if (to !== undefined) onSend({ cap, to, until })
  }
  return (
    <Dialog title={title} open onClose={onClose}>
      <Form onSend={send} validatedBy="send">
        <p className="text-soft">{caps.raiseText}</p>
        <Field label={caps.cap}>
          {(control) => <Select {...control} value={cap} options={choicesOf(names, caps.names)} onPick={setCap} />}
        </Field>
        <TextField
          as={isQuota(cap) ? TextInput : MoneyInput}
          label={caps.raiseTo}
          data-autofocus
          error={isWrong ? (isQuota(cap) ? caps.wrongCount : caps.wrongMoney) : undefined}
          inputMode={isQuota(cap) ? 'numeric' : 'decimal'}
          value={typed}
          onText={setTyped}
          className="figures"
        />
        <ChoiceField label={caps.raiseFor} value={until} options={choicesOf(SPANS, caps.spans)} onPick={setUntil} />
        <FormEnd mutation={mutation} go={caps.raise} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
