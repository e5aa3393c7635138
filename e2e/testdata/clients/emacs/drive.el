;;; drive.el -*- lexical-binding: t -*-
;; Drives Emacs with Eglot: a mistake, its fix, completion, hover, definition, renaming, the written form.
;; The folder has people.ql, and a database main with a table people (name, born).
(require 'eglot)

(defun await (what condition)
  "Lets Emacs go on until CONDITION holds; WHAT is what it waits for."
  (let ((end (+ (float-time) 60)))
    (while (not (funcall condition))
      (when (> (float-time) end)
        (error "%s did not come; the text is\n%s" what (buffer-string)))
      (accept-process-output nil 0.05))))

(defun want (part)
  "Fails unless the text has PART."
  (let ((case-fold-search nil))
    (unless (save-excursion (goto-char (point-min)) (search-forward part nil t))
      (error "There is no %S in\n%s" part (buffer-string)))))

(defun at (line column)
  "Goes to LINE, from 1, and COLUMN, from 0."
  (goto-char (point-min))
  (forward-line (1- line))
  (move-to-column column))

(defun mistakes ()
  (flymake-start)
  (flymake-diagnostics))

(setq eglot-sync-connect 60 eglot-send-changes-idle-time 0)
(find-file "people.ql")
(run-hooks 'post-command-hook) ; where eglot-ensure starts the server
(await "the server" #'eglot-managed-p)
(await "the mistake" (lambda () (= (length (mistakes)) 1)))
(let ((found (car (mistakes))))
  (unless (and (string-match-p (regexp-quote "?woh is never set; ?who is") (flymake-diagnostic-text found))
               (equal (buffer-substring (flymake-diagnostic-beg found) (flymake-diagnostic-end found)) "?woh"))
    (error "The mistake is %S" found)))

(at 3 6)
(eglot--dbind ((CodeAction) edit) (car (eglot-code-actions (point) nil "quickfix"))
  (eglot--apply-workspace-edit edit))
(want "EMIT ?who\n")

(goto-char (point-max))
(insert "EMIT upp")
(completion-at-point)
(want "EMIT UPPER(")
(insert "?w")
(completion-at-point)
(want "EMIT UPPER(?who")
(insert ")\nSELECT bo FROM people SET ?rows\n")
(at 5 9)
(completion-at-point)
(want "SELECT born FROM people SET ?rows")

(at 4 7)
(eglot--dbind ((Hover) contents range)
    (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams))
  (unless (string-match-p (regexp-quote "UPPER(text)") (eglot--hover-info contents range))
    (error "What is said is %S" contents)))
(at 3 7)
(xref-find-definitions (xref-backend-identifier-at-point (xref-find-backend)))
(unless (= (line-number-at-pos) 2)
  (error "It is defined on line %d" (line-number-at-pos)))

(eglot-rename "name")
(want "?name as \"Ada\"\nEMIT ?name\nEMIT UPPER(?name)\n")
(eglot-format-buffer)
(want "SET ?name AS \"Ada\"\nEMIT ?name\n")
(await "no mistake" (lambda () (null (mistakes))))
(eglot-shutdown (eglot-current-server))
