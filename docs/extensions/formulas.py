"""Formulas as MathML, which browsers show by themselves: no script, and nothing from another server."""

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml


def visit_inline(translator, node):
    """Write a formula within a line."""
    translator.body.append(tex2mathml(node.astext()))
    raise SkipNode


def visit_block(translator, node):
    """Write a formula on a line of its own."""
    translator.body.append(tex2mathml(node.astext(), as_block=True))
    raise SkipNode


def setup(app):
    """Join the build."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True}
