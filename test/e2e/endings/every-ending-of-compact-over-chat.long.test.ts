import { describeColumn } from './describe-column.ts'

describeColumn('compact over a chat lane')
