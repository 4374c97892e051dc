import { useState } from 'react'
import { wasCancelled } from '../../lib/console-problem.ts'
import { useAct } from '../../questions/useAct.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogActions } from '../../ui/Dialog.tsx'
import { Field } from '../../ui/Field.tsx'
import { ProblemNote } from '../../ui/ProblemNote.tsx'
import { TextInput } from '../../ui/TextInput.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { NAME_MAX } from './key-draft.ts'
import type { KeyFacts } from './own-key.ts'

export function RenameKeyDialog({ keyItem, onClose }: { keyItem: KeyFacts; onClose: () => void }) {
  const { keys, common } = useWords()
  const [name, setName] = useState(keyItem.name)
  const rename = useAct('PATCH /keys/:key', {
    changes: ['GET /keys', 'GET /keys/:key', 'GET /audit'],
    done: keys.renamed,
    problem: 'shown-here',
    onDone: onClose,
  })
  return (
    <Dialog title={keys.renameTitle} open onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          rename.mutate({ params: { key: keyItem.id }, body: { name: name.trim() } })
        }}
      >
        <Field label={keys.name} hint={keys.nameHint}>
          {(control) => (
            <TextInput
              {...control}
              data-autofocus
              required
              maxLength={NAME_MAX}
              value={name}
              onChange={(event) => setName(event.target.value)}
              onFocus={(event) => event.target.select()}
            />
          )}
        </Field>
        {rename.error !== null && !wasCancelled(rename.error) && <ProblemNote error={rename.error} />}
        <DialogActions>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button tone="primary" type="submit" busy={rename.isPending} disabled={name.trim() === ''}>
            {common.save}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
