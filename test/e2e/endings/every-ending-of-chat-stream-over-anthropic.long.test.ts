import { describeColumn } from './describe-column.ts'

describeColumn('chat stream over an anthropic lane')
