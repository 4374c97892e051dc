import { useAct } from '../../questions/useAct.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogActions } from '../../ui/Dialog.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import type { Code } from './useCodeColumns.tsx'

export function WithdrawCode({ code, onClose }: { code: Code | undefined; onClose: () => void }) {
  const { codes, common } = useWords()
  const withdraw = useAct('POST /operate/codes/:code/withdraw', {
    changes: ['GET /operate/codes', 'GET /operate/audit'],
    done: codes.withdrawn,
    onDone: onClose,
  })
  return (
    <Dialog title={codes.withdrawTitle} open={code !== undefined} onClose={onClose}>
      <p className="text-soft">{codes.withdrawText(code?.shown ?? '')}</p>
      <DialogActions>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button
          tone="danger"
          busy={withdraw.isPending}
          onClick={() => code !== undefined && withdraw.mutate({ params: { code: code.id } })}
        >
          {codes.withdraw}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
