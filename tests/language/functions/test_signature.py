from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.value import Family


def function(**changes: object) -> Function:
    parameters = (Parameter("x", Family.STRING), Parameter("n", Family.NUMBER, literal=True, default=1))
    fields = {"parameters": parameters, "spark": "repeat({0}, {1})"} | changes
    return Function(
        name="repeat", result=Family.STRING, call=str.__mul__, summary="", example="repeat(x, 2) = 'aa'", **fields
    )


def test_a_parameter_with_a_default_may_be_left_out():
    assert function().n_required == 1
    assert [function().accepts(n) for n in range(4)] == [False, True, True, False]


def test_the_last_parameter_of_a_variadic_function_repeats():
    variadic = function(parameters=(Parameter("x", Family.STRING), Parameter("y", Family.NUMBER)), variadic=True)
    assert [variadic.accepts(n) for n in (1, 2, 9)] == [False, True, True]
    assert [variadic.parameter_at(n).name for n in (0, 1, 8)] == ["x", "y", "y"]


def test_spark_text_fills_the_template_and_leaves_braces_of_arguments_alone():
    assert function().spark_text(["'{1}'", "3"]) == "repeat('{1}', 3)"
    assert function(spark="concat({all})").spark_text(["a", "b", "c"]) == "concat(a, b, c)"
    assert function(spark=None).spark_text(["a"]) is None
