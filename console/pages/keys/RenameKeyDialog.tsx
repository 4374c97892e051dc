import { useState } from 'react'
import { useAct } from '../../questions/useAct.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { FormEnd } from '../../ui/FormEnd.tsx'
import { TextField } from '../../ui/TextField.tsx'
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
        <TextField
          label={keys.name}
          hint={keys.nameHint}
          data-autofocus
          required
          maxLength={NAME_MAX}
          value={name}
          onText={setName}
          onFocus={(event) => event.target.select()}
        />
        <FormEnd act={rename} go={common.save} disabled={name.trim() === ''} onCancel={onClose} />
      </form>
    </Dialog>
  )
}
