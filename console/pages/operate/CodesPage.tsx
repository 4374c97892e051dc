import { Plus, Ticket } from 'lucide-react'
import { useState } from 'react'
import { useLetterKey } from '../../lib/useLetterKey.ts'
import { itemsOf } from '../../questions/question.ts'
import { useCodes } from '../../questions/useCodes.ts'
import { Button } from '../../ui/Button.tsx'
import { DataTable } from '../../ui/DataTable.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { ShowMore } from '../../ui/ShowMore.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { MakeCodes } from './MakeCodes.tsx'
import { type Code, useCodeColumns } from './useCodeColumns.tsx'
import { WithdrawCode } from './WithdrawCode.tsx'

export function CodesPage() {
  const { shell, codes } = useWords()
  const question = useCodes()
  const [making, setMaking] = useState(false)
  const [withdrawing, setWithdrawing] = useState<Code>()
  const columns = useCodeColumns(setWithdrawing)
  const make = () => setMaking(true)
  useLetterKey('n', codes.make, make)
  const makeButton = (
    <Button tone="primary" onClick={make}>
      <Plus aria-hidden="true" />
      {codes.make}
    </Button>
  )
  return (
    <Page>
      <PageHeader title={shell.areas.codes} about={codes.about} actions={makeButton} />
      <Panel padding="flush">
        <Answer question={question} lines={6}>
          {(data) => {
            const rows = itemsOf(data)
            return rows.length === 0 ? (
              <Empty icon={Ticket} title={codes.none} text={codes.noneText} action={makeButton} />
            ) : (
              <DataTable caption={shell.areas.codes} columns={columns} rows={rows} rowId={({ id }) => id} />
            )
          }}
        </Answer>
        <ShowMore question={question} />
      </Panel>
      {making && <MakeCodes onClose={() => setMaking(false)} />}
      <WithdrawCode code={withdrawing} onClose={() => setWithdrawing(undefined)} />
    </Page>
  )
}
