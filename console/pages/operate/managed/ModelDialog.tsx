import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { Form, FormEnd, TextField } from '../../../ui/Form.tsx'
import { Checkbox } from '../../../ui/inputs.tsx'
import { LaneFields, providersOf } from './LaneFields.tsx'
import { type EntryDialogProps, useManagedChange, useTakenText } from './managed-entry.ts'
import {
  draftOf,
  entryOf,
  INPUTS,
  KINDS,
  type LaneDraft,
  laneDraftOf,
  PRICES,
  SIZES,
  type Texts,
} from './model-draft.ts'

/** A model with its lanes, also one whose provider has no list of models. */
export function ModelDialog({ item, items, onClose }: EntryDialogProps) {
  const { managed } = useMessages()
  const [draft, setDraft] = useState(() => draftOf(item?.entry ?? {}, providersOf(items)))
  const { texts, kinds, lanes } = draft
  const { mutation, send } = useManagedChange({ done: managed.modelSaved, onDone: onClose })
  const takenText = useTakenText(items)
  const taken = item === undefined ? takenText('model', texts.id) : undefined
  const write = (name: keyof Texts) => (text: string) => setDraft({ ...draft, texts: { ...texts, [name]: text } })
  const change = (changed: readonly LaneDraft[]) => setDraft({ ...draft, lanes: changed })
  const model = {
    ...entryOf(item?.entry ?? {}, draft),
    ...(item === undefined && { price: { input: texts.input.trim(), output: texts.output.trim() } }),
  }
  return (
    <Dialog
      title={item === undefined ? managed.addModel : managed.editOf(item.name)}
      open
      onClose={onClose}
      closing="by-button"
      width="wide"
    >
      <Form onSend={() => send({ models: [model] })}>
        <TextField
          label={managed.modelId}
          error={taken}
          required
          readOnly={item !== undefined}
          value={texts.id}
          onText={write('id')}
        />
        <TextField
          label={managed.description}
          hint={managed.descriptionHint}
          optional
          value={texts.description}
          onText={write('description')}
        />
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          {SIZES.map((size) => (
            <NumberField key={size} label={managed.sizes[size]} required value={texts[size]} onText={write(size)} />
          ))}
          {item === undefined &&
            PRICES.map((price) => (
              <TextField
                key={price}
                label={managed.prices[price]}
                required
                inputMode="decimal"
                value={texts[price]}
                onText={write(price)}
              />
            ))}
          {INPUTS.map((input) => (
            <NumberField
              key={input}
              label={managed.inputs[input]}
              hint={managed.inputsHint}
              optional
              value={texts[input]}
              onText={write(input)}
            />
          ))}
        </div>
        <TextField
          label={managed.efforts}
          hint={managed.effortsHint}
          optional
          spellCheck={false}
          value={texts.efforts}
          onText={write('efforts')}
        />
        <fieldset className="grid gap-1.5">
          <legend className="mb-1 text-sm font-medium">{managed.keyKinds}</legend>
          {KINDS.map((kind) => (
            <Checkbox
              key={kind}
              label={managed.kindsOfKeys[kind]}
              checked={kinds.includes(kind)}
              onChange={({ currentTarget: { checked } }) =>
                setDraft({ ...draft, kinds: KINDS.filter((each) => (each === kind ? checked : kinds.includes(each))) })
              }
            />
          ))}
        </fieldset>
        {lanes.map((lane, index) => (
          <LaneFields
            key={lane.row}
            lane={lane}
            title={managed.lane(String(index + 1))}
            items={items}
            onChange={(changed) => change(lanes.map((each) => (each.row === changed.row ? changed : each)))}
            onRemove={lanes.length === 1 ? undefined : () => change(lanes.filter(({ row }) => row !== lane.row))}
          />
        ))}
        <div>
          <Button onClick={() => change([...lanes, nextLane(lanes, providersOf(items))])}>
            <Plus aria-hidden="true" />
            {managed.addLane}
          </Button>
        </div>
        <FormEnd
          mutation={mutation}
          go={managed.saveModel}
          disabled={taken !== undefined || kinds.length === 0}
          onCancel={onClose}
        />
      </Form>
    </Dialog>
  )
}

/** With a provider that the model does not have yet. */
function nextLane(lanes: readonly LaneDraft[], providers: readonly string[]): LaneDraft {
  const upstream = providers.find((name) => lanes.every((lane) => lane.upstream !== name))
  return laneDraftOf({ upstream, priority: lanes.length + 1 }, lanes.at(-1)!.row + 1)
}

type NumberFieldProps = Omit<Parameters<typeof TextField>[0], 'inputMode' | 'pattern'>

const NumberField = (props: NumberFieldProps) => <TextField {...props} inputMode="numeric" pattern="[0-9]+" />
