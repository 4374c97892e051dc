import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { Button, IconButton } from '../../../ui/Button.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { Form, FormEnd, TextField } from '../../../ui/Form.tsx'
import { MoneyInput } from '../../../ui/inputs.tsx'
import {
  type EntryDialogProps,
  listOf,
  shapeOf,
  textOf,
  useManagedChange,
  useTakenText,
  wordsOf,
} from './managed-entry.ts'

interface WindowDraft {
  readonly row: number
  readonly every: string
  readonly allowance: string
}

/** A plan as the configuration has it: the models that it covers, and what may be spent in each period. */
export function PlanDialog({ item, items, onClose }: EntryDialogProps) {
  const { managed } = useMessages()
  const entry = item?.entry ?? {}
  const [id, setId] = useState(() => textOf(entry.id))
  const [models, setModels] = useState(() => listOf(entry.models).map(textOf).join(', '))
  const [windows, setWindows] = useState<readonly WindowDraft[]>(() => {
    const saved = listOf(entry.windows).map(shapeOf)
    return (saved.length === 0 ? [{ every: 'month' }] : saved).map((window, row) => ({
      ...{ row, every: textOf(window.every), allowance: textOf(window.allowance) },
    }))
  })
  const { mutation, send } = useManagedChange({ done: managed.planSaved, onDone: onClose })
  const takenText = useTakenText(items)
  const taken = item === undefined ? takenText('plan', id) : undefined
  const change = (changed: WindowDraft) =>
    setWindows(windows.map((each) => (each.row === changed.row ? changed : each)))
  const plan = {
    ...{ ...entry, id: id.trim(), models: wordsOf(models) },
    windows: windows.map(({ every, allowance }) => ({ every: every.trim(), allowance: allowance.trim() })),
  }
  return (
    <Dialog title={item === undefined ? managed.addPlan : managed.editOf(item.name)} open onClose={onClose}>
      <Form onSend={() => send({ plans: [plan] })}>
        <p className="text-sm text-soft">{managed.planText}</p>
        <TextField
          label={managed.id}
          hint={managed.planIdHint}
          error={taken}
          required
          readOnly={item !== undefined}
          value={id}
          onText={setId}
        />
        <TextField
          label={managed.planModels}
          hint={managed.planModelsHint}
          required
          spellCheck={false}
          value={models}
          onText={setModels}
        />
        <fieldset className="grid gap-2">
          <legend className="text-sm font-medium">{managed.windows}</legend>
          <p className="text-xs text-faint">{managed.everyHint}</p>
          {windows.map((window, index) => (
            <div key={window.row} className="grid grid-cols-[1fr_1fr_auto] items-end gap-2">
              <TextField
                label={managed.every(String(index + 1))}
                required
                spellCheck={false}
                value={window.every}
                onText={(every) => change({ ...window, every })}
              />
              <TextField
                as={MoneyInput}
                label={managed.allowance(String(index + 1))}
                required
                value={window.allowance}
                onText={(allowance) => change({ ...window, allowance })}
              />
              <IconButton
                icon={X}
                label={managed.removeWindow(String(index + 1))}
                disabled={windows.length === 1}
                onClick={() => setWindows(windows.filter(({ row }) => row !== window.row))}
              />
            </div>
          ))}
          <div>
            <Button
              onClick={() => setWindows([...windows, { row: windows.at(-1)!.row + 1, every: '', allowance: '' }])}
            >
              <Plus aria-hidden="true" />
              {managed.addWindow}
            </Button>
          </div>
        </fieldset>
        <FormEnd mutation={mutation} go={managed.savePlan} disabled={taken !== undefined} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
